import type { Command } from 'commander';
import type { Io } from '../io.ts';

/** What `phasegate audit verify` is told on the command line. */
export interface AuditVerifyFlags {
  readonly expectHead?: string;
  readonly keyFile?: string;
  readonly json?: true;
}

/** Adds `phasegate audit`. What it does is loaded when it is run. */
export function addAudit(program: Command, io: Io, onEnd: (code: number) => void): void {
  const audit = program
    .command('audit')
    .summary('verify the chain of an audit log')
    .description('Looks after audit logs, as auditLog of phasegate/audit writes them.')
    .helpCommand(false)
    .showHelpAfterError('(phasegate audit verify --help says how logs are verified)')
    .addHelpText('after', EXAMPLE);
  audit
    .command('verify')
    .summary('find whatever was changed, removed, put in, repeated or moved')
    .description(
      'Verifies audit logs that were written with a chain: finds every record that was ' +
        'changed, removed, put in, repeated or moved, and prints the last hash of each. ' +
        'Give all files of a log that was written to several.',
    )
    .argument('<files...>', 'audit logs: paths, globs, or - for standard input')
    .option('--expect-head <hash>', 'a hash that was kept elsewhere, which a record must have')
    .option('--key-file <file>', 'the file with the key, of a log that was written with one')
    .option('--json', 'print one JSON object a log')
    .addHelpText('after', EXAMPLES)
    .action(async (files: string[], flags: AuditVerifyFlags) => {
      const { runAuditVerify } = await import('../audit/verify.ts');
      onEnd(await runAuditVerify(files, flags, io));
    });
}

const EXAMPLE = `
Example:
  $ phasegate audit verify runs.jsonl`;

const EXAMPLES = `
A chain does not show that its end was cut off, nor that somebody who can write
the file wrote all of it anew. Keep the last hash where nobody can change it who
writes the log, and give it with --expect-head. Only who has the key can make
the hashes of a log that was written with one.

Exit codes: 0 every record is as it was written, 1 some are not, 2 wrong usage,
or a log that cannot be verified.

Examples:
  $ phasegate audit verify runs.jsonl
  $ phasegate audit verify runs.*.jsonl runs.jsonl --expect-head 9f86d081…
  $ phasegate audit verify runs.jsonl --key-file audit.key --json`;
