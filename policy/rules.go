package policy

// Layer is the settings layer that a rule comes from. Rules of all layers are
// judged together; the layer matters for what may be said in it, and for people.
type Layer string

// The layers, the strongest first.
const (
	LayerManaged Layer = "managed"
	LayerFlag    Layer = "flag"
	LayerLocal   Layer = "local"
	LayerProject Layer = "project"
	LayerUser    Layer = "user"
	LayerSession Layer = "session"
)

// RuleSource is a rule as it was written, with where that was.
type RuleSource struct {
	Effect Effect // allow, ask or deny
	Text   string // Claude Code's syntax: "Bash(npm run test:*)"
	Layer  Layer
	File   string
	Line   int
	Col    int
	// Dir is what a path that starts with one "/" is relative to: the project for
	// project settings, the folder of the file otherwise.
	Dir string
}

// RuleOptions say what rules are read against.
type RuleOptions struct {
	Home string // for "~/"
	Cwd  string // the session's folder, for bare paths
}

// Rules is a compiled set of rules. It is immutable and safe for concurrent use.
// It is a [Policy]: deny beats ask beats allow, from whatever layer.
type Rules struct{ compiled }

// Problem is what lint says about a rule.
type Problem struct {
	Rule RuleSource
	// Fatal problems refuse the load: ignoring the rule would open something, or
	// it cannot be read at all.
	Fatal bool
	What  string // "it can never match: …"
	Hint  string
}
