import { Said } from './said.tsx';

type Fields = Readonly<Record<string, unknown>>;

/** What an event tells. It comes as it was sent: nobody has looked at it. */
export function Told({ event }: { readonly event: unknown }) {
  if (typeof event !== 'object' || event === null) return <>Something that is no event</>;
  const fields = event as Fields;
  const word = (name: string) => <Word value={fields[name]} />;
  switch (fields['type']) {
    case 'run.started':
      return (
        <>
          Run {word('run')} {fields['resumed'] == null ? 'begins' : 'goes on where it was saved'}
        </>
      );
    case 'phase.entered':
      return (
        <>
          {word('from')} → {word('phase')}
        </>
      );
    case 'phase.proposed':
      return fields['allowed'] === true ? (
        <>{word('target')} is proposed and legal</>
      ) : (
        <>
          {word('target')} is proposed and refused: {word('code')}
        </>
      );
    case 'call.waiting':
      return <>{word('tool')} waits its turn</>;
    case 'call.started':
      return <>{word('tool')} is admitted</>;
    case 'call.refused':
      return (
        <span class="of-refused">
          {word('tool')} is refused: {word('message')}
        </span>
      );
    case 'call.ended':
      return fields['ok'] === true ? (
        <>
          {word('tool')} ends well{fields['late'] === true && ', after its run'}
        </>
      ) : (
        <span class="of-failed">{word('tool')} fails</span>
      );
    case 'run.ended':
      return (
        <>
          Run {word('run')} ends in {word('phase')}
          {typeof fields['reason'] === 'string' && <>: {word('reason')}</>}
        </>
      );
    default:
      return <>An event of the type {word('type')}</>;
  }
}

function Word({ value }: { readonly value: unknown }) {
  return typeof value === 'string' ? <Said text={value} /> : <>?</>;
}
