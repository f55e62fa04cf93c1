import { defineTool } from '@cofferdam/core/plugin'
import type { Tool } from '@cofferdam/core/plugin'
import { z } from 'zod'
import { answer, failure, failureOf } from '../answer.js'
import type { Answer } from '../answer.js'
import { approveFiles, canonicalPath } from './file-tools.js'
import type { FileToolContext } from './file-tools.js'
import { carryOutPlan } from './patch/carry-out-plan.js'
import { parsePatch } from './patch/parse-patch.js'
import { isProblem } from './patch/patch.js'
import { planPatch } from './patch/plan-patch.js'
import type { ChangeSummary, PlanProblem } from './patch/plan-patch.js'

const MAX_PATCH_CHARACTERS = 2 * 1024 * 1024

interface ApplyPatchInput {
  readonly patch: string
}

const parameters: z.ZodType<ApplyPatchInput> = z.strictObject({
  patch: z.string().min(1).max(MAX_PATCH_CHARACTERS).describe("From '*** Begin Patch' to '*** End Patch'."),
})

const DESCRIPTION = `Changes any number of files at once; when one change cannot be made, none is.
*** Begin Patch
*** Update File: path
*** Move to: new path        (optional)
@@ a line of the file        (anchor: look after it; may be stacked, or empty)
 unchanged line
-removed line
+added line
*** End of File              (optional: the lines above are the last of the file)
*** Add File: path
+every line of the new file
*** Delete File: path
*** End Patch
Give about three unchanged lines around each change. No line numbers.`

export function applyPatchTool(context: FileToolContext): Tool<ApplyPatchInput> {
  const tool = { name: 'apply_patch', effects: 'write' } as const
  const canonical = (path: string): string => canonicalPath(path, context.scope)
  return defineTool({
    ...tool,
    description: DESCRIPTION,
    parameters,
    approval: approveFiles(context, tool, ({ patch }) => pathsOf(patch)),
    execute: ({ patch }, { signal }) =>
      answer(context.answers, async () => {
        const sections = parsePatch(patch)
        if (isProblem(sections)) {
          const message = `nothing was changed; line ${sections.line} of the patch: ${sections.problem}`
          return failure('patch_invalid', message, { line: sections.line, problem: sections.problem })
        }
        const { files } = context.session
        const plan = await planPatch(sections, { files, canonical, ...(signal === undefined ? {} : { signal }) })
        if (plan.problems.length > 0) return refused(plan.problems)
        try {
          await carryOutPlan(plan.changes, files)
        } catch (error) {
          const mendable = failureOf(error)
          if (mendable === undefined) throw error
          return { ...mendable, text: `${mendable.text}\nNothing was changed.` }
        }
        return done(plan.summary)
      }),
  })
}

/** None of a patch that cannot be read: it changes nothing, so there is nothing to ask about. */
function pathsOf(patch: string): readonly string[] {
  const sections = parsePatch(patch)
  if (isProblem(sections)) return []
  return sections.flatMap((section) =>
    section.kind === 'update' && section.moveTo !== null ? [section.path, section.moveTo] : [section.path],
  )
}

function refused(problems: readonly PlanProblem[]): Answer {
  const lines = problems.map(({ path, line, problem }) => `line ${line} of the patch, ${path}: ${problem}`)
  const [first] = problems
  const listed = problems.map(({ code, path, line, problem }) => ({ code, path, line, problem }))
  return failure(first?.code ?? 'patch_conflict', `nothing was changed\n${lines.join('\n')}`, { problems: listed })
}

const LETTERS: Readonly<Record<ChangeSummary['change'], string>> = {
  added: 'A',
  updated: 'M',
  moved: 'R',
  deleted: 'D',
}

function done(summary: readonly ChangeSummary[]): Answer {
  const lines = summary.map(({ change, path, movedTo, added, removed }) => {
    const name = movedTo === null ? path : `${path} -> ${movedTo}`
    return `${LETTERS[change]} ${name} (+${added} -${removed})`
  })
  const files = summary.map(({ change, path, movedTo, added, removed }) => ({ change, path, movedTo, added, removed }))
  return { ok: true, text: ['Done.', ...lines].join('\n'), data: { files } }
}
