package sandbox

import "github.com/holdfast-dev/holdfast/policy"

// Merged is what the settings of several layers say together, where that is more
// than each of them restricting by itself.
type Merged struct {
	AutoAllow        Loosened // autoAllowBashIfSandboxed
	AllowUnsandboxed Loosened // allowUnsandboxedCommands
	Weaker           Loosened // enableWeakerNestedSandbox
	Nested           Loosened // allowNestedSandbox

	// Network: there is a way out at all. A host must be let through by each of Hosts.
	Network        Loosened
	LocalBinding   Loosened // network.allowLocalBinding
	UnixSockets    Loosened // network.allowUnixSockets: those of the command's own files
	AllUnixSockets Loosened // network.allowAllUnixSockets
	Ask            Loosened // network.ask
	Hosts          []Hosts  // one for each layer with a network block, in order
	HTTPProxyPort  Port     // the person's own proxy, which what passes goes through
	SOCKSProxyPort Port

	Limits       Limits                   // the smallest of each
	LimitOrigins map[string]policy.Origin // "memory" → who set it

	// AdditionalWritePaths are the trees that may be written besides the workspace:
	// what is left when every layer's allowedWritePaths have been taken into account.
	AdditionalWritePaths []WriteTree

	layers []*Checker
}

// Loosened is a setting that opens something.
type Loosened struct {
	On bool
	By policy.Origin // who sets it; when somebody did and it is not On: who stands against it
}

// Hosts are the domain lists of one layer.
type Hosts struct {
	Allow, Deny  []string
	LocalBinding bool
	Origin       policy.Origin
}

// Port is a port of this machine. 0: none.
type Port struct {
	Number int
	Origin policy.Origin
}

// WriteTree is a tree that may be written.
type WriteTree struct {
	Path   string // canonical
	Entry  string // as it was written
	Origin policy.Origin
}

// Merge joins layers, the strongest first.
//
// What loosens (the first four flags, excludedCommands, additionalWritePaths)
// holds when a trusted layer sets it, no layer says false, and no managed layer is
// silent about it. Of network each block restricts by itself: a flag there holds
// when every network block sets it, and there is a network only when a trusted
// layer has a block. allowManagedDomainsOnly ends every question. A limit is the
// smallest that any layer sets.
func Merge(layers []*Checker) *Merged { return &Merged{layers: layers} }

// Excluded says whether a command line may run outside the kernel sandbox when a
// person agrees: every command of it is in excludedCommands. It returns who says so.
func (m *Merged) Excluded(line, cwd string) (policy.Origin, bool) { return policy.Origin{}, false }

// Muted says whether ignoreViolations keeps a violation of a command from being
// told. It changes nothing about what is refused.
func (m *Merged) Muted(v *Violation, line string) bool { return false }
