package sandbox

import (
	"os"
	"path"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
	"github.com/holdfast-dev/holdfast/internal/sandbox/realpath"
	"github.com/holdfast-dev/holdfast/internal/shellparse"
	"github.com/holdfast-dev/holdfast/policy"
)

// opListen is the operation of accepting connections.
const opListen = "listen"

// Violation is an action that the sandbox refused.
type Violation struct {
	Kind    string        `json:"kind"`              // "path", "host", "syscall", "limit"
	Subject string        `json:"what"`              // "/etc/x", "evil.test:443", "ptrace", "memory"
	Op      string        `json:"op,omitempty"`      // "read", "write", "run", "connect"
	Setting string        `json:"setting,omitempty"` // "allowedWritePaths"; "" is built in
	Origin  policy.Origin `json:"origin,omitzero"`   // where the setting was written
	Reason  string        `json:"reason,omitempty"`  // more detail than the setting gives: "it resolves to the private address 10.0.0.8"
	Hint    string        `json:"hint,omitempty"`    // how to allow the action, if that is possible

	reported bool // for a system call: true if the command itself reported such an error
}

// IsAccess reports whether the violation is about a path or a host, rather than a system call or a
// limit.
func (v *Violation) IsAccess() bool { return v.Kind == kindPath || v.Kind == kindHost }

// Explain returns the reason why the kernel refuses an operation on a path, or nil if it does not
// refuse it. The path must be absolute. If it is a symbolic link, its target is checked, as in the
// kernel. Creating, moving and removing are also writes.
func (s *Sandbox) Explain(name string, op policy.Operation) *Violation {
	s.mu.Lock()
	p := s.plan
	s.mu.Unlock()
	v := p.explain(name, op)
	if v == nil || v.Hint != "" || v.Setting != fieldWritePaths {
		return v
	}
	v.Hint = "it is outside the workspace"
	if o := s.SettingFor(v); o != nil && len(o.AdditionalWritePaths) > 0 {
		v.Hint += "; to allow it (additionalWritePaths): "
		if _, err := os.Lstat(o.AdditionalWritePaths[0]); err != nil {
			v.Hint += "mkdir -p " + shellparse.Canonical(o.AdditionalWritePaths...) + " && "
		}
		v.Hint += "holdfast sandbox allow --write " + shellparse.Canonical(o.AdditionalWritePaths...)
	} else if s.compiler.decides(v.Subject) {
		v.Hint += " and decides what other programs do: change it yourself, outside the sandbox"
	}
	return v
}

func (p *plan) explain(name string, op policy.Operation) *Violation {
	if !path.IsAbs(name) {
		return nil
	}
	full, err := realpath.Resolve(name)
	if err != nil {
		full = path.Clean(name)
	}
	if p.isPrivate(full) {
		return nil
	}
	v := &Violation{Kind: kindPath, Subject: full, Op: verb(op)}
	if at := p.treeAbove(p.policy.Hide, full); at != "" {
		return v.withReason(p.reasons[at], at)
	}
	if op == policy.OpWrite {
		return p.explainWrite(v)
	}
	return p.explainRead(v)
}

// isPrivate reports whether a path is in a folder that is private to commands and shows nothing of the
// host's.
func (p *plan) isPrivate(full string) bool {
	return inAny(privateFolders, full) && treeOf(p.write, full) == nil &&
		!slices.ContainsFunc(p.read, func(a pathTree) bool { return a.path != "/" && within(full, a.path) })
}

// treeAbove returns the tree that contains a path, or "".
func (p *plan) treeAbove(list []string, full string) string {
	if i := slices.IndexFunc(list, func(root string) bool { return within(full, root) }); i >= 0 {
		return list[i]
	}
	return ""
}

func (p *plan) explainRead(v *Violation) *Violation {
	for i := range p.read {
		if a := &p.read[i]; within(v.Subject, a.path) && (a.path != "/" || !inAny(specialFolders, v.Subject)) {
			return nil
		}
	}
	if treeOf(p.write, v.Subject) != nil || inAny(devices, v.Subject) || within(v.Subject, "/proc") || v.Subject == "/" {
		return nil
	}
	for _, l := range p.layers {
		if l.read != nil && treeOf(l.read, v.Subject) == nil {
			return v.outsideSetting(fieldReadPaths, l.origin)
		}
	}
	v.Hint = "add it to allowedReadPaths"
	return v
}

func (p *plan) explainWrite(v *Violation) *Violation {
	if inAny(devices, v.Subject) {
		return nil
	}
	if treeOf(p.write, v.Subject) == nil {
		return p.explainOutsideWrite(v)
	}
	if at := p.treeAbove(p.policy.ReadOnly, v.Subject); at != "" {
		return v.withReason(p.reasons[at], at)
	}
	i := slices.IndexFunc(p.policy.Forbid, func(n kernel.Name) bool { return within(v.Subject, n.Path) })
	if i >= 0 {
		at := p.policy.Forbid[i].Path
		return v.withReason(p.reasons[at], at)
	}
	if slices.Contains(p.policy.Pin, v.Subject) {
		v.Hint = "it contains a protected path, so it cannot be moved or removed; do that outside the sandbox"
		return v
	}
	return nil
}

func (p *plan) explainOutsideWrite(v *Violation) *Violation {
	for _, l := range p.layers {
		if l.write != nil && treeOf(l.write, v.Subject) == nil {
			return v.outsideSetting(fieldWritePaths, l.origin)
		}
	}
	for _, l := range p.layers {
		for _, a := range l.protected {
			if within(v.Subject, a.path) {
				return v.withReason(a.planReason, a.path)
			}
		}
	}
	v.Setting = fieldWritePaths
	return v
}

func (v *Violation) outsideSetting(setting string, o policy.Origin) *Violation {
	v.Setting, v.Origin = setting, o
	v.Hint = "to allow this, add the folder to " + setting + " there"
	return v
}

// withReason adds the reason of the refusal to a violation.
func (v *Violation) withReason(g planReason, at string) *Violation {
	v.Setting, v.Origin = g.setting, g.origin
	switch {
	case g.setting == fieldDeniedCommands:
		v.Hint = "to allow this command, remove " + g.origin.Rule + " from deniedCommands"
	case g.setting != "":
		v.Hint = "to allow this, remove " + g.origin.Rule + " from " + g.setting
	case g.text == secretReason.text:
		v.Hint = at + " contains secrets; to let commands read them: holdfast sandbox allow --read " + shellparse.Canonical(at)
	case g.text == decidingReason.text:
		v.Hint = at + " decides what other programs do: change it yourself, outside the sandbox"
	case g.text != "":
		v.Hint = g.text
	}
	return v
}

// devices are usable by every command.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx"}
