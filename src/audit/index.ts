/**
 * Writes down what an enforcement decides: a line of JSON for each event, which `phasegate replay` reads, with a chain of hashes
 * if that is wanted.
 *
 * @example
 * import { createEnforcement } from 'phasegate';
 * import { auditLog } from 'phasegate/audit';
 *
 * const enforcement = createEnforcement();
 * enforcement.on(auditLog('runs.jsonl', { chain: true, onError: 'refuse' }));
 *
 * @module
 */
export { type AuditHead, type AuditLog, auditLog } from './audit-log.ts';
export type { LogStream } from './lines.ts';
export type { AuditLogOptions, CapturedValue } from './options.ts';
export { type AuditFault, type AuditReport, type VerifyAuditOptions, verifyAudit } from './verify.ts';
