import { describe, expect, it } from 'vitest';
import { callsIn, eventsOf, replayed } from '../support.ts';
import { recording, recordings } from './recordings.ts';

// What each of them did, read by hand.
const weather = ['getWeather ok', 'getWeather error', 'getWeather ok'];
const historian = ['get_weather ok', 'get_weather error', 'ask_historian ok', 'list_files ok'];
const langchain = ['get_weather ok', 'get_weather error', 'get_weather ok'];
const calls: Record<string, readonly string[]> = {
  'ai-sdk-5-model.json': [...weather, 'deleteNotes ok'],
  'ai-sdk-5-ui.json': [...weather, 'deleteNotes ok'],
  'ai-sdk-6-model.json': [...weather, 'deleteNotes none'],
  'ai-sdk-6-ui.json': [...weather, 'deleteNotes none'],
  'ai-sdk-7-model.json': [...weather, 'deleteNotes none'],
  'ai-sdk-7-ui.json': [...weather, 'deleteNotes none'],
  'inspect-zstandard.eval': ['bash ok', 'python error', 'submit none'],
  'langchain-constructor.json': langchain,
  'langchain-plain.jsonl': langchain,
  'langchain-stored.json': langchain,
  'openai-agents-history.json': historian,
  'openai-agents-new-items.json': historian,
  'openai-responses-input.jsonl': historian,
  // Both cities were asked for within a millisecond.
  'otlp-ai-sdk-6.jsonl': ['getWeather error', 'getWeather ok', 'askHistorian ok', 'lookUp ok'],
  'otlp-ai-sdk-7.jsonl': ['getWeather ok', 'getWeather error', 'askHistorian ok', 'lookUp ok'],
};

describe('a recording by a framework', () => {
  it.each(recordings)('holds the calls that were made: %s', async (name) => {
    const events = await eventsOf(recording(name));
    expect(events.filter(({ type }) => type === 'fault')).toEqual([]);
    expect(callsIn(events)).toEqual(calls[name]);
  });

  it.each([6, 7])('of spans makes the agent in a tool a child run: AI SDK %s', async (version) => {
    const { reports } = await replayed(recording(`otlp-ai-sdk-${version}.jsonl`));
    expect(reports).toMatchObject([{ calls: 4, failed: 1, stepCount: 3, figures: { depth: 1, nested: 0 } }]);
  });
});
