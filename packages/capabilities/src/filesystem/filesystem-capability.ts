import { defineCapability, SandboxError } from '@cofferdam/core/plugin'
import type { Capability, CapabilityContext, Tool } from '@cofferdam/core/plugin'
import { applyPatchTool } from './apply-patch-tool.js'
import type { FileApproval, FileToolContext } from './file-tools.js'
import { filesystemInstructions } from './instructions.js'
import { listFilesTool } from './list-files-tool.js'
import { readFileTool } from './read-file-tool.js'
import { globTool, grepTool } from './search-tools.js'
import { viewImageTool } from './view-image-tool.js'
import { editFileTool, writeFileTool } from './write-tools.js'

export interface FilesystemOptions {
  /** Only the tools that read. Default false. */
  readonly readOnly?: boolean
  /** Default `never` for both. A rule for writes that is a function of a patch gets all of its paths. */
  readonly approval?: { readonly read?: FileApproval; readonly write?: FileApproval }
  /** Bytes of text that one call gives a model. At least 1 024. Default 64 KiB. */
  readonly maxOutputBytes?: number
  /** Largest image that is shown. Default 8 MiB. */
  readonly maxImageBytes?: number
}

const DEFAULT_OUTPUT_BYTES = 64 * 1024
const MIN_OUTPUT_BYTES = 1_024
const DEFAULT_IMAGE_BYTES = 8 * 1024 * 1024

/**
 * Files of the workspace as tools: `read_file`, `list_files`, `glob`, `grep`, `view_image`, and unless `readOnly`
 * `write_file`, `edit_file`, `apply_patch`. Paths are those of `session.files`. What is read is masked by `session.redact`
 * and bounded; images are given as they are.
 *
 * Files belong to the sandbox's own user. Binding with `runAs` is `unsupported_feature`: it would promise what does not
 * happen.
 *
 * @throws TypeError for options that are out of range
 */
export function filesystem(options: FilesystemOptions = {}): Capability {
  const maxOutputBytes = options.maxOutputBytes ?? DEFAULT_OUTPUT_BYTES
  const maxImageBytes = options.maxImageBytes ?? DEFAULT_IMAGE_BYTES
  if (!Number.isSafeInteger(maxOutputBytes) || maxOutputBytes < MIN_OUTPUT_BYTES) {
    throw new TypeError(`filesystem: maxOutputBytes must be a whole number of at least ${MIN_OUTPUT_BYTES}`)
  }
  if (!Number.isSafeInteger(maxImageBytes) || maxImageBytes < 1) {
    throw new TypeError('filesystem: maxImageBytes must be a whole number of at least 1')
  }
  const readOnly = options.readOnly ?? false
  return defineCapability({
    type: 'filesystem',
    bind: async (context) => {
      const tools = await toolContext(context, { approval: options.approval ?? {}, maxOutputBytes })
      return {
        tools: [...readTools(tools, maxImageBytes), ...(readOnly ? [] : writeTools(tools))],
        instructions: filesystemInstructions(readOnly),
      }
    },
  })
}

async function toolContext(
  { session, runAs }: CapabilityContext,
  options: { readonly approval: NonNullable<FilesystemOptions['approval']>; readonly maxOutputBytes: number },
): Promise<FileToolContext> {
  if (runAs !== null) {
    const reason = 'files are read and written as the user of the sandbox; bind without runAs, or use the shell alone'
    throw new SandboxError('unsupported_feature', `filesystem: ${reason}`, { feature: 'runAs', reason })
  }
  const { mounts } = await session.describe()
  return {
    session,
    scope: { workspaceRoot: session.workspaceRoot, mounts },
    answers: { redact: (text) => session.redact(text), maxOutputBytes: options.maxOutputBytes },
    approval: { read: options.approval.read ?? 'never', write: options.approval.write ?? 'never' },
  }
}

function readTools(context: FileToolContext, maxImageBytes: number): Tool[] {
  return [
    readFileTool(context),
    listFilesTool(context),
    globTool(context),
    grepTool(context),
    viewImageTool(context, maxImageBytes),
  ]
}

function writeTools(context: FileToolContext): Tool[] {
  return [writeFileTool(context), editFileTool(context), applyPatchTool(context)]
}
