package workspace

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/holdfast-dev/holdfast/internal/sandbox/egress"
	"github.com/holdfast-dev/holdfast/internal/supervisor"
)

// problem describes an invalid field.
type problem struct{ field, what, hint string }

// Check returns an [Error] that wraps [ErrInvalid] for invalid complete settings (see [Settings.WithDefaults]).
// The host folders are checked later: by Create and Set, and before a container is created.
func (s *Settings) Check() error {
	if p := s.problem(); p != nil {
		return p.error(s.Slug)
	}
	return nil
}

func (p *problem) error(slug string) error {
	return &Error{Op: "check settings", Slug: slug, Field: p.field, Err: ErrInvalid, Detail: p.field + ": " + p.what, Advice: p.hint}
}

// problem returns the first invalid value, without looking at the disk.
func (s *Settings) problem() *problem {
	for _, check := range []func() *problem{
		s.checkIdentity, s.checkTexts, s.checkAgent, s.checkLimits, s.checkNetwork, s.checkMounts, s.checkCredentials,
	} {
		if p := check(); p != nil {
			return p
		}
	}
	return nil
}

func (s *Settings) checkIdentity() *problem {
	if e, ok := errors.AsType[*Error](CheckSlug(s.Slug)); ok {
		return &problem{"slug", e.Detail, e.Advice}
	}
	if !isID(s.ID) {
		return &problem{"id", fmt.Sprintf("%.40q is not 16 hexadecimal digits", s.ID), "restore the id the workspace was created with"}
	}
	if s.Created.IsZero() {
		return &problem{"created", "it is missing", "write the time as 2006-01-02T15:04:05Z"}
	}
	return nil
}

func isID(id string) bool { return len(id) == 16 && strings.Trim(id, "0123456789abcdef") == "" }

func (s *Settings) checkTexts() *problem {
	if s.Project != "" {
		if p := checkAbsolute("project", s.Project); p != nil {
			return p
		}
	}
	if s.Image != "" {
		first := strings.IndexFunc(s.Image, func(r rune) bool {
			return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-/:@", r)
		})
		if first >= 0 || len(s.Image) > 255 || strings.ContainsRune("._-/:@", rune(s.Image[0])) {
			return &problem{"image", fmt.Sprintf("%.60q is not an image name", s.Image), "write it as for docker: name, name:tag or its sha256"}
		}
	}
	if len(s.Model) > 255 || strings.ContainsFunc(s.Model, unicode.IsControl) || strings.HasPrefix(s.Model, "-") {
		return &problem{"model", fmt.Sprintf("%.60q is not a model name", s.Model), "write the agent's name for the model"}
	}
	switch s.Trust {
	case Sandboxed:
		return nil
	case Direct:
		return &problem{"trust", "a workspace is always sandboxed", "run the agent without a workspace: holdfast run"}
	}
	return &problem{"trust", fmt.Sprintf("%.40q is not a trust level", s.Trust), "write sandboxed"}
}

func (s *Settings) checkAgent() *problem {
	a := &s.Agent
	for i, arg := range a.Command {
		if i == 0 && arg == "" || strings.ContainsRune(arg, 0) {
			return &problem{fmt.Sprintf("agent.command[%d]", i), fmt.Sprintf("%.40q is not a valid argument", arg), `write the program and its arguments, such as ["gemini", "--acp"]`}
		}
	}
	switch a.Kind {
	case KindHoldfast:
		if len(a.Command) > 0 {
			return &problem{"agent.command", "the built-in agent takes no command", "remove it, or set kind to " + KindACP}
		}
	case KindClaude, KindCodex:
	case KindACP:
		if len(a.Command) == 0 {
			return &problem{"agent.command", "an ACP agent needs a command", `write it as a list, such as ["gemini", "--acp"], or --command gemini --command=--acp`}
		}
	default:
		return &problem{"agent.kind", fmt.Sprintf("unknown agent kind %.40q", a.Kind), "use holdfast, claude, codex or acp"}
	}
	return nil
}

func (s *Settings) checkLimits() *problem {
	l := &s.Limits
	switch {
	case l.Memory < minMemory:
		return &problem{"limits.memory", l.Memory.String() + " is too little to run an agent", "give at least " + Bytes(minMemory).String()}
	case !(l.CPUs >= minCPUs && l.CPUs <= maxCPUs):
		return &problem{"limits.cpus", fmt.Sprintf("%v is not a number of processors", l.CPUs), "write a number such as 2 or 0.5"}
	case l.PIDs < minPIDs || l.PIDs > maxPIDs:
		return &problem{"limits.pids", fmt.Sprintf("%d is not between %d and %d", l.PIDs, minPIDs, maxPIDs), "threads are included; 512 is enough for an agent"}
	case l.Disk < 1<<20 && l.Disk != Unlimited:
		return &problem{"limits.disk", l.Disk.String() + " is too little to store anything", `give at least 1m, or "none" for no limit`}
	}
	return nil
}

func (s *Settings) checkNetwork() *problem {
	switch n := &s.Network; n.Mode {
	case NetworkNone:
		if len(n.Domains) > 0 {
			return &problem{"network.domains", "domains have no effect without a network", `set "mode" to "proxy"`}
		}
	case NetworkProxy:
		for i, entry := range n.Domains {
			if what, hint := egress.CheckEntry(entry); what != "" {
				return &problem{fmt.Sprintf("network.domains[%d]", i), what, hint}
			}
		}
	default:
		return &problem{"network.mode", fmt.Sprintf("unknown network mode %.40q", n.Mode), "use none or proxy"}
	}
	return nil
}

// reservedPaths are paths in the container. A mount must not be at or below one of them.
var reservedPaths = []string{
	"/work", "/home", "/run", "/tmp", "/proc", "/sys", "/dev", "/etc", "/usr", "/bin", "/sbin",
	"/lib", "/lib32", "/lib64", "/libx32", "/boot", "/var", "/holdfast",
}

func (s *Settings) checkMounts() *problem {
	for i, m := range s.Mounts {
		field := fmt.Sprintf("mounts[%d]", i)
		if p := checkAbsolute(field+".host", m.Host); p != nil {
			return p
		}
		at := field + ".at"
		if !path.IsAbs(m.Target) || path.Clean(m.Target) != m.Target || m.Target == "/" || strings.ContainsFunc(m.Target, unicode.IsControl) || strings.ContainsRune(m.Target, ':') {
			return &problem{at, fmt.Sprintf("%.80q is not a path in the container", m.Target), "write an absolute path, such as /mnt/data"}
		}
		for _, t := range reservedPaths {
			if below(m.Target, t, '/') {
				return &problem{at, m.Target + " is reserved for the container", "choose another, such as /mnt/data"}
			}
		}
		for j, other := range s.Mounts[:i] {
			if below(m.Target, other.Target, '/') || below(other.Target, m.Target, '/') {
				return &problem{at, fmt.Sprintf("%s overlaps mounts[%d].at (%s)", m.Target, j, other.Target), "choose paths that are not inside each other"}
			}
		}
	}
	return nil
}

func checkAbsolute(field, p string) *problem {
	if !filepath.IsAbs(p) || filepath.Clean(p) != p || strings.ContainsRune(p, 0) {
		return &problem{field, fmt.Sprintf("%.80q is not an absolute path", p), "write the full path without . and .."}
	}
	return nil
}

// below reports whether p is dir or is below it. Both are clean.
func below(p, dir string, separator byte) bool {
	rest, ok := strings.CutPrefix(p, dir)
	return ok && (rest == "" || rest[0] == separator || dir[len(dir)-1] == separator)
}

func (s *Settings) checkCredentials() *problem {
	for i, name := range s.Credentials {
		field := fmt.Sprintf("credentials[%d]", i)
		if key, _, ok := strings.Cut(name, "="); ok { // its value may be a secret: it is not shown
			return &problem{field, fmt.Sprintf("%.40q has a value", key), "write only the name; the value is read from the environment when an agent starts"}
		}
		if e, ok := errors.AsType[*supervisor.EnvError](supervisor.CheckEnv([]string{name + "="})); ok {
			return &problem{field, fmt.Sprintf("%.60q is %s", name, e.Reason), "name a variable that holds a credential, such as ANTHROPIC_API_KEY"}
		}
	}
	return nil
}
