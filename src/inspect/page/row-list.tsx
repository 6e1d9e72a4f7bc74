import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { useRowsInView } from './rows-in-view.ts';

export interface RowListProps {
  readonly id: string;
  /** What the list is, for who cannot see it. */
  readonly label: string;
  readonly count: number;
  readonly rowHeight: number;
  /** The row that the keyboard is at; it is kept in view. -1: none yet. */
  readonly at: number;
  readonly selected: number;
  /** The keyboard moved to a row. */
  readonly onMove: (index: number) => void;
  readonly onSelect: (index: number) => void;
  readonly onSeen?: (from: number, to: number) => void;
  readonly row: (index: number) => Row;
}

export interface Row {
  readonly key: string;
  /** All that it shows, in words. */
  readonly label: string;
  readonly indent: number;
  readonly className?: string;
  readonly content: ComponentChildren;
}

/** A list of any length, of which only the rows in view are in the document. */
export function RowList(props: RowListProps) {
  const { id, label, count, rowHeight, at, selected, onMove, onSelect, onSeen } = props;
  const { ref, reveal, viewHeight, height, from, to, seen } = useRowsInView(count, rowHeight);

  useEffect(() => {
    if (at >= 0 && viewHeight > 0) reveal(at);
  }, [at, reveal, viewHeight]);
  useEffect(() => onSeen?.(seen.from, seen.to), [seen.from, seen.to, onSeen]);

  const onKeyDown = (event: KeyboardEvent) => {
    const page = Math.max(1, seen.to - seen.from - 2);
    const moves: Record<string, number> = {
      ArrowUp: at - 1,
      ArrowDown: at + 1,
      PageUp: at - page,
      PageDown: at + page,
      Home: 0,
      End: count - 1,
    };
    const next = moves[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (next !== undefined) onMove(Math.min(count - 1, Math.max(0, next)));
    else if (event.key === 'Enter' && at >= 0) onSelect(at);
    else return;
    event.preventDefault();
  };

  const rows = [];
  for (let index = from; index < to; index += 1) {
    const { key, label: words, indent, className = '', content } = props.row(index);
    rows.push(
      // biome-ignore lint/a11y/useKeyWithClickEvents: the list itself takes the keys, and says which row they are at.
      // biome-ignore lint/a11y/useFocusableInteractive: as above.
      <div
        key={key}
        id={`${id}-${index}`}
        role="option"
        aria-selected={index === selected}
        aria-setsize={count}
        aria-posinset={index + 1}
        class={`row ${className}${index === at ? ' at' : ''}`}
        style={{
          transform: `translateY(${index * rowHeight}px)`,
          height: `${rowHeight}px`,
          '--indent': indent,
        }}
        onClick={() => onSelect(index)}
      >
        <span class="hidden">{words}</span>
        <div class="cells" aria-hidden="true">
          {content}
        </div>
      </div>,
    );
  }
  return (
    <div
      ref={ref}
      class="rows"
      role="listbox"
      tabIndex={0}
      aria-label={label}
      aria-activedescendant={at >= from && at < to ? `${id}-${at}` : undefined}
      onKeyDown={onKeyDown}
      onFocus={() => {
        if (at < 0 && count > 0) onMove(Math.max(0, selected));
      }}
    >
      <div role="presentation" style={{ height: `${height}px` }}>
        {rows}
      </div>
    </div>
  );
}
