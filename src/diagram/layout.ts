import type { ElkEdgeSection, ElkExtendedEdge, ElkLabel, ElkNode } from 'elkjs/lib/elk-api.js';
import { PhasegateError } from '../errors.ts';
import { isTerminal } from '../phases.ts';
import { ANY_LIVE, type Arrow, type Picture } from './picture.ts';
import { type Box, type Point, round } from './shapes.ts';
import { LABEL, PHASE, widthOf } from './text.ts';

/** Where everything goes. */
export interface Layout {
  readonly width: number;
  readonly height: number;
  /** Around the live phases. */
  readonly live: Box;
  readonly start: Box;
  readonly startArrow: readonly Point[];
  readonly phases: ReadonlyMap<string, Box>;
  /** The way of each arrow of the picture, in their order, and where its label goes. */
  readonly arrows: readonly { readonly points: readonly Point[]; readonly label: Box | undefined }[];
}

const LIVE = 'live';
const START = 'start';
const START_ARROW = 'start arrow';

const SHARED = {
  'elk.layered.nodePlacement.strategy': 'NETWORK_SIMPLEX',
  'elk.spacing.nodeNode': '28',
  'elk.spacing.edgeNode': '18',
  'elk.spacing.edgeEdge': '12',
  'elk.spacing.edgeLabel': '4',
  'elk.spacing.nodeSelfLoop': '14',
  'elk.spacing.portPort': '12',
  'elk.layered.spacing.nodeNodeBetweenLayers': '44',
  'elk.layered.spacing.edgeNodeBetweenLayers': '18',
  'elk.layered.spacing.edgeEdgeBetweenLayers': '12',
};

/**
 * Lays a picture out.
 *
 * @throws {PhasegateError} `missing-dependency` where elkjs is not installed.
 */
export async function layOut(picture: Picture, direction: 'right' | 'down'): Promise<Layout> {
  const Elk = await loadElk();
  const backwards = waysBack(picture);
  const graph = await new Elk().layout(graphOf(picture, backwards, direction));
  const nodes = new Map(allNodes(graph).map((node) => [node.id, boxOf(node)]));
  const edges = new Map(allNodes(graph).flatMap((node) => (node.edges ?? []).map((edge) => [edge.id, edge])));
  const box = (id: string) => nodes.get(id) as Box;
  return {
    width: Math.ceil(graph.width ?? 0),
    height: Math.ceil(graph.height ?? 0),
    live: box(LIVE),
    start: box(START),
    startArrow: pointsOf(edges.get(START_ARROW)),
    phases: new Map(picture.phases.map(({ name }) => [name, box(name)])),
    arrows: picture.arrows.map((_, index) => {
      const edge = edges.get(String(index));
      const label = edge?.labels?.[0];
      const points = pointsOf(edge);
      return { points: backwards[index] ? [...points].reverse() : points, label: label && boxOf(label) };
    }),
  };
}

// Which arrows lead nearer to IDLE again. They are laid out the other way round: without cycles to break as it likes, the
// layout leads all runs one way.
function waysBack({ phases, arrows }: Picture): readonly boolean[] {
  const ranks = new Map(phases.map(({ name, rank }) => [name, rank]));
  return arrows.map(({ from, to }) => !isTerminal(to) && (ranks.get(from) ?? -1) > (ranks.get(to) ?? -1));
}

async function loadElk(): Promise<typeof import('elkjs/lib/elk-api.js').default> {
  try {
    return (await import('elkjs/lib/elk.bundled.js')).default;
  } catch (error) {
    if (!/MODULE_NOT_FOUND$/.test(String((error as NodeJS.ErrnoException).code))) throw error;
    throw new PhasegateError(
      'missing-dependency',
      'An SVG is laid out by elkjs, an optional dependency that is not installed. Install it with: npm install elkjs',
      { cause: error },
    );
  }
}

function graphOf(
  { phases, arrows }: Picture,
  backwards: readonly boolean[],
  direction: 'right' | 'down',
): ElkNode {
  const nodes = phases.map(({ name }) => ({
    id: name,
    width: widthOf(name, PHASE) + 36,
    height: 40,
    layoutOptions: {
      'elk.nodeSize.constraints': 'PORTS MINIMUM_SIZE',
      'elk.nodeSize.minimum': `(${widthOf(name, PHASE) + 36},40)`,
      ...(isTerminal(name) && { 'elk.layered.layering.layerConstraint': 'LAST' }),
      ...(direction === 'right' && { 'elk.layered.edgeRouting.selfLoopDistribution': 'NORTH' }),
    },
  }));
  return {
    id: 'all',
    layoutOptions: {
      'elk.algorithm': 'layered',
      'elk.direction': direction.toUpperCase(),
      'elk.edgeRouting': 'ORTHOGONAL',
      'elk.hierarchyHandling': 'INCLUDE_CHILDREN',
      'elk.json.shapeCoords': 'ROOT',
      'elk.json.edgeCoords': 'ROOT',
      'elk.separateConnectedComponents': 'false',
      'elk.padding': '[top=20,left=20,bottom=20,right=20]',
      ...SHARED,
    },
    children: [
      {
        id: LIVE,
        layoutOptions: { 'elk.padding': '[top=40,left=20,bottom=24,right=24]', ...SHARED },
        children: [{ id: START, width: 14, height: 14 }, ...nodes.filter(({ id }) => !isTerminal(id))],
      },
      ...nodes.filter(({ id }) => isTerminal(id)),
    ],
    edges: [
      { id: START_ARROW, sources: [START], targets: ['IDLE'] },
      ...arrows.map((arrow, index) => edgeOf(arrow, index, backwards[index] === true)),
    ],
  };
}

function edgeOf({ from, to, label }: Arrow, index: number, isBack: boolean): ElkExtendedEdge {
  const [source, target] = isBack ? [to, from] : [from === ANY_LIVE ? LIVE : from, to];
  const size = {
    width: Math.max(...label.map((line) => widthOf(line, LABEL))),
    height: label.length * LABEL.lineHeight,
  };
  const labels: ElkLabel[] = label.length === 0 ? [] : [{ text: label.join('\n'), ...size }];
  return { id: String(index), sources: [source], targets: [target], labels };
}

function allNodes(node: ElkNode): ElkNode[] {
  return [node, ...(node.children ?? []).flatMap(allNodes)];
}

function boxOf({ x = 0, y = 0, width = 0, height = 0 }: Partial<Box>): Box {
  return { x: round(x), y: round(y), width: round(width), height: round(height) };
}

function pointsOf(edge: ElkExtendedEdge | undefined): readonly Point[] {
  return (edge?.sections ?? []).flatMap(({ startPoint, bendPoints = [], endPoint }: ElkEdgeSection) =>
    [startPoint, ...bendPoints, endPoint].map(({ x, y }) => ({ x: round(x), y: round(y) })),
  );
}
