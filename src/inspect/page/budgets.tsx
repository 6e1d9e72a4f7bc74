import type { Phase } from '../../phases.ts';
import { inShort } from './said.tsx';

interface Use {
  readonly used: number;
  /** `null`: no limit, or not known. */
  readonly limit: number | null;
}

/** How much of a budget is used. What it shows stands beside it in figures. */
export function Bar({ used, limit }: Use) {
  if (limit === null) return null;
  const share = limit === 0 ? 1 : Math.min(1, used / limit);
  return (
    <span class={used >= limit ? 'bar spent' : 'bar'} aria-hidden="true">
      <i style={{ width: `${share * 100}%` }} />
    </span>
  );
}

export function StepBudget({ used, limit }: Use) {
  return <Budget name="Steps" used={used} limit={limit} />;
}

export function LoopBudget({ used, limit, phase }: Use & { readonly phase: Phase | null }) {
  return (
    <Budget name={phase === null ? 'Loops' : `Loops in ${inShort(phase, 24)}`} used={used} limit={limit} />
  );
}

function Budget({ name, used, limit }: Use & { readonly name: string }) {
  return (
    <div class="budget">
      <span>
        {name} <b>{used}</b>
        {limit === null ? ' without limit' : ` of ${limit}${used >= limit ? ' · spent' : ''}`}
      </span>
      <Bar used={used} limit={limit} />
    </div>
  );
}
