import {
  type Attributes,
  type Context,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import packageJson from '../../package.json' with { type: 'json' };
import type { CallRefused, CallStarted, RunStarted } from '../events.ts';
import type { SavedCall } from '../saved-run.ts';
import { Clock } from './clock.ts';
import { frameworkSpan, lacking } from './framework-span.ts';
import type { Settings } from './options.ts';
import { cut, shortName, shortText } from './words.ts';

const ARGUMENTS_LENGTH = 8192;

/** The span of a run or a call. */
export interface Spanned {
  readonly span: Span;
  /** Whether it was made here, and not by a framework that ends it by itself. */
  readonly own: boolean;
  /** When it began, or was found. */
  readonly begun: number;
}

/** Makes spans, and ends them. */
export class Spans {
  readonly #tracer: Tracer;
  readonly #settings: Settings;
  readonly #clock = new Clock();
  // Each is of one call: one that is made in the body of another, of the same tool, has a span of its own.
  readonly #taken = new WeakSet<Span>();

  constructor(settings: Settings) {
    this.#tracer = (settings.tracerProvider ?? trace).getTracer('phasegate', packageJson.version);
    this.#settings = settings;
  }

  /** The span of a run that begins. */
  beginRun(event: RunStarted, agentName: string | undefined, around: Context): Spanned {
    const name = agentName === undefined ? 'invoke_agent' : `invoke_agent ${agentName}`;
    const conversation = this.#settings.conversationId(event);
    return this.#begin(name, around, {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': agentName,
      'gen_ai.conversation.id': conversation && shortName(conversation),
      'phasegate.run.id': shortName(event.run),
    });
  }

  /** The span of a call that was decided: the framework's own, where it has opened one for it. */
  beginCall(event: CallStarted | CallRefused, decision: Attributes, around: Context): Spanned {
    const attributes = { ...attributesOf(event), ...decision };
    const framework = frameworkSpan(around, event.tool);
    const spanned =
      framework === undefined || this.#taken.has(framework)
        ? this.#begin(`execute_tool ${attributes['gen_ai.tool.name']}`, around, attributes)
        : this.#take(framework, attributes);
    this.#taken.add(spanned.span);
    this.#showArguments(spanned.span, event);
    return spanned;
  }

  /** The span of a call that was in flight when its run was saved, from when that is resumed. */
  resumeCall(run: string, { id, tool }: SavedCall, around: Context): Spanned {
    const attributes = attributesOf({ run, call: id, tool });
    const name = `execute_tool ${attributes['gen_ai.tool.name']}`;
    return this.#begin(name, around, { ...attributes, 'phasegate.decision': 'admitted' });
  }

  /** Tells of something that happened in a span. */
  tell({ span }: Spanned, what: string, attributes: Attributes): void {
    span.addEvent(what, attributes, this.#clock.now());
  }

  /** @param time When it ended; now, if it is not given. */
  end({ span, own }: Spanned, time = this.#clock.now()): void {
    if (!own) return;
    try {
      span.end(time);
    } catch {
      // A processor failed. Others that are to end now do all the same.
    }
  }

  #begin(name: string, around: Context, attributes: Attributes): Spanned {
    const begun = this.#clock.now();
    const options = { kind: SpanKind.INTERNAL, attributes, startTime: begun };
    return { span: this.#tracer.startSpan(name, options, around), own: true, begun };
  }

  #take(framework: Span, attributes: Attributes): Spanned {
    framework.setAttributes(lacking(framework, attributes));
    return { span: framework, own: false, begun: this.#clock.now() };
  }

  #showArguments(span: Span, { args, tool }: CallStarted | CallRefused): void {
    try {
      const shown = span.isRecording() ? this.#settings.argumentsShown(args, tool) : undefined;
      if (shown !== undefined) span.setAttribute('gen_ai.tool.call.arguments', cut(shown, ARGUMENTS_LENGTH));
    } catch {
      // The provider failed, and the call has its span without them.
    }
  }
}

function attributesOf({ run, call, tool }: Pick<CallRefused, 'run' | 'call' | 'tool'>): Attributes {
  return {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': shortName(tool),
    'gen_ai.tool.call.id': call === null ? undefined : shortName(call),
    'phasegate.run.id': run === null ? undefined : shortName(run),
  };
}

/** Marks a span as failed, with a word that few failures have for themselves, and a text. */
export function fail({ span }: Spanned, errorType: string, message: string): void {
  span.setAttribute('error.type', errorType);
  span.setStatus({ code: SpanStatusCode.ERROR, message: shortText(message) });
}
