import type { BackendFeatures, Isolation } from '../contracts/features.js'

const PROCESSES: Readonly<Record<Isolation, string>> = {
  none: 'Processes are NOT confined: commands run with the rights of the account that runs the host program.',
  process:
    'Processes are confined by the operating system: they see neither other processes nor files outside their view.',
  container: 'Processes run in a container of their own and share the kernel of its machine.',
  vm: 'Processes run in a virtual machine of their own.',
}

/** What is and what is not confined, one sentence for each subject. */
export function confinementOf(features: BackendFeatures): readonly string[] {
  const { limits } = features
  const limited = (['memory', 'cpu', 'pids', 'disk'] as const).filter((limit) => limits[limit])
  return [
    PROCESSES[features.isolation],
    features.isolation === 'none'
      ? 'Files outside the workspace are reachable by commands; the file methods stay inside.'
      : 'Files outside the workspace and the mounts are not reachable.',
    features.network.includes('none') || features.network.includes('policy')
      ? `Network can be held to: ${features.network.join(', ')}.`
      : 'Network is NOT confined.',
    limited.length === 0 ? 'No resource limits are enforced.' : `Limits that can be enforced: ${limited.join(', ')}.`,
    features.killTree === 'proven'
      ? 'Ending a command ends all its descendants for certain.'
      : 'Ending a command ends all its descendants that can be found; one that hides on purpose may escape.',
  ]
}
