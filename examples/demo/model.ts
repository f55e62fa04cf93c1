/** What a model is shown: the task first, then each of its calls with what came of it. */
export interface Turn {
  readonly role: 'task' | 'call' | 'result'
  readonly text: string
}

/** What a model wants next: a tool, or to be done. */
export type Decision =
  | { readonly tool: string; readonly input: unknown; readonly why: string }
  | { readonly done: true; readonly why: string }

/**
 * The model behind the agent. A real one goes here: send `instructions`, the tools' `name`, `description` and
 * `jsonSchema`, and the conversation to your provider, and return the tool call that it answers with.
 */
export interface Model {
  readonly name: string
  next(conversation: readonly Turn[], instructions: string): Promise<Decision>
}

/** Plays a fixed list of decisions. It looks at nothing, so what the tools do is real and what it decides is not. */
export function scriptedModel(name: string, decisions: readonly Decision[]): Model {
  let position = 0
  return {
    name: `${name} (scripted)`,
    next: () => Promise.resolve(decisions[position++] ?? { done: true, why: 'the script is over' }),
  }
}
