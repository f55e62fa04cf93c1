import type { Tool } from '@cofferdam/core'
import type { Model, Turn } from './model.js'

export interface AgentStep {
  readonly tool: string
  readonly why: string
  readonly ok: boolean
  readonly summary: string
  readonly durationMs: number
}

export interface AgentRun {
  readonly model: Model
  readonly instructions: string
  readonly tools: readonly Tool[]
  readonly task: string
  readonly onStep: (step: AgentStep) => void | Promise<void>
}

/** The smallest agent loop: ask the model, call the tool, show the result, until it is done. */
export async function runAgent(run: AgentRun): Promise<string> {
  const conversation: Turn[] = [{ role: 'task', text: run.task }]
  for (let step = 0; step < 50; step++) {
    const decision = await run.model.next(conversation, run.instructions)
    if ('done' in decision) return decision.why
    const tool = run.tools.find(({ name }) => name === decision.tool)
    if (tool === undefined) throw new TypeError(`the model asked for ${decision.tool}, which is no tool of this agent`)
    const startedMs = performance.now()
    const result = await tool.execute(decision.input, { approved: true })
    const text = result.content.map((part) => (part.type === 'text' ? part.text : `[${part.mediaType}]`)).join('\n')
    conversation.push(
      { role: 'call', text: `${decision.tool} ${JSON.stringify(decision.input)}` },
      { role: 'result', text },
    )
    await run.onStep({
      tool: decision.tool,
      why: decision.why,
      ok: result.ok,
      summary: lastLine(text),
      durationMs: performance.now() - startedMs,
    })
  }
  throw new TypeError('the model did not come to an end within 50 steps')
}

function lastLine(text: string): string {
  const lines = text.split('\n').map((line) => line.trim())
  const counts = lines.filter((line) => /^# (pass|fail) \d+$/.test(line))
  const line =
    counts.length > 0 ? counts.join(', ').replaceAll('# ', '') : (lines.findLast((each) => each !== '') ?? '')
  return line.length > 90 ? `${line.slice(0, 87)}...` : line
}
