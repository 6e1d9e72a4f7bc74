import fc from 'fast-check';

// Properties look at other examples in each run, but where a change is judged: there it is not to pass or fail by chance.
if (process.env['CI'] !== undefined) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: 1 });
