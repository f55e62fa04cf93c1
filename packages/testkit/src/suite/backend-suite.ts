import type { BackendCase } from './backend-case.js'
import { EXIT_CASES } from './cases/exec/exit-cases.js'
import { INPUT_CASES } from './cases/exec/input-cases.js'
import { KILL_CASES } from './cases/exec/kill-cases.js'
import { LIMIT_CASES } from './cases/exec/limit-cases.js'
import { OUTPUT_CASES } from './cases/exec/output-cases.js'
import { TERMINAL_CASES, TERMINAL_END_CASES } from './cases/exec/terminal-cases.js'
import { CHANGE_CASES } from './cases/files/change-cases.js'
import { LINK_CASES } from './cases/files/link-cases.js'
import { READ_WRITE_CASES } from './cases/files/read-write-cases.js'
import { TREE_CASES } from './cases/files/tree-cases.js'
import { IDEMPOTENCE_CASES } from './cases/idempotence/idempotence-cases.js'
import { CREATE_CASES } from './cases/lifecycle/create-cases.js'
import { ENDPOINT_CASES } from './cases/lifecycle/endpoint-cases.js'
import { OVERTAKEN_CASES } from './cases/lifecycle/overtaken-cases.js'
import { STATE_CASES } from './cases/lifecycle/state-cases.js'
import { STATE_MACHINE_CASES } from './cases/lifecycle/state-machine-cases.js'
import { USAGE_CASES } from './cases/lifecycle/usage-cases.js'
import { DISK_PATH_BACKEND_CASES } from './cases/paths/disk-path-cases.js'
import { ESCAPE_CASES } from './cases/paths/escape-cases.js'
import { RECOVERY_CASES } from './cases/recovery/recovery-cases.js'

/** Every clause of the backend contract that is examined, in the order of the report. */
export const BACKEND_CASES: readonly BackendCase[] = Object.freeze([
  ...CREATE_CASES,
  ...STATE_MACHINE_CASES,
  ...OVERTAKEN_CASES,
  ...ENDPOINT_CASES,
  ...USAGE_CASES,
  ...STATE_CASES,
  ...OUTPUT_CASES,
  ...EXIT_CASES,
  ...INPUT_CASES,
  ...KILL_CASES,
  ...TERMINAL_CASES,
  ...TERMINAL_END_CASES,
  ...LIMIT_CASES,
  ...READ_WRITE_CASES,
  ...TREE_CASES,
  ...CHANGE_CASES,
  ...LINK_CASES,
  ...ESCAPE_CASES,
  ...DISK_PATH_BACKEND_CASES,
  ...RECOVERY_CASES,
  ...IDEMPOTENCE_CASES,
])
