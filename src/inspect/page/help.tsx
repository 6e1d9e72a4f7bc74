import { signal, useSignalEffect } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { KEYS } from './key-table.ts';

export const helping = signal(false);

/** The keys that the page knows. */
export function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  useSignalEffect(() => {
    if (helping.value) dialog.current?.showModal();
    else dialog.current?.close();
  });
  return (
    <dialog
      ref={dialog}
      aria-labelledby="help"
      onClose={() => {
        helping.value = false;
      }}
    >
      <h2 id="help">Keys</h2>
      <dl>
        {KEYS.map(([keys, does]) => (
          <>
            <dt>
              {keys.map((key) => (
                <>
                  <kbd>{key}</kbd>{' '}
                </>
              ))}
            </dt>
            <dd>{does}</dd>
          </>
        ))}
      </dl>
      <button
        type="button"
        onClick={() => {
          helping.value = false;
        }}
      >
        Close
      </button>
    </dialog>
  );
}
