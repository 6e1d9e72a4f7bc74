import { signal } from '@preact/signals';
import type { Dropped, RunSummary, StreamEvents } from '../protocol.ts';
import type { RunModel } from '../run-model.ts';

/** Whether the server is heard. */
export const link = signal<'connecting' | 'open' | 'lost'>('connecting');
/** Why the server does not answer this page, in its words: the address has not its token. */
export const locked = signal<string | null>(null);
export const hello = signal<StreamEvents['hello'] | null>(null);
/** Whether all runs that the server knew at the beginning have been told. */
export const ready = signal(false);
/** By key. */
export const runs = signal<ReadonlyMap<string, RunSummary>>(new Map());
export const dropped = signal<Dropped | null>(null);

/** The run that is shown, with its child runs. It is replaced whenever the model has grown. */
export interface Watched {
  readonly key: string;
  readonly model: RunModel;
  /** How many events the model holds. */
  readonly length: number;
}

export const watched = signal<Watched | null>(null);
/** The key of a run that the server does not know, or has let go. */
export const unknown = signal<string | null>(null);
