package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
	"github.com/holdfast-dev/holdfast/internal/sandbox/realpath"
	"github.com/holdfast-dev/holdfast/policy"
)

// finder finds what the sandbox refused a command that has ended.
type finder struct {
	box   *Sandbox
	dir   string   // where the command started
	env   []string // what it knew
	hosts map[string]bool
}

// limits are the limits that were reached.
func (f *finder) limits(r *Report, s *State) []Violation {
	var out []Violation
	m := f.box.merged()
	reached := func(name string, on bool) {
		if on {
			out = append(out, f.limit(name))
		}
	}
	reached("memory", r.OOM)
	reached("wallTime", r.WallTime)
	reached("outputBytes", r.Dropped > 0)
	reached("fileSize", m.Limits.FileSize > 0 && s.Status.Signaled() && isFileSizeSignal(s.Status.Signal()))
	return out
}

func (f *finder) limit(name string) Violation {
	return Violation{
		Kind: kindLimit, Subject: name, Setting: "limits." + name, Origin: f.box.merged().LimitOrigins[name],
		Hint: "raise limits." + name + " if it needs more",
	}
}

// addRefusedHosts takes in the hosts that the proxy refused.
func (f *finder) addRefusedHosts(list []Violation) []Violation {
	for i := range list {
		if list[i].Kind == kindHost {
			host, _, _ := strings.Cut(list[i].Subject, ":")
			f.hosts[host] = true
		}
	}
	return list
}

// addComplaints finds in what programs complained of what the policy does refuse. An error
// that the policy has no part in is the program's own.
func (f *finder) addComplaints(list []errorLine) []Violation {
	var out []Violation
	for _, c := range list {
		switch c.fault {
		case faultLarge:
			if f.box.merged().Limits.FileSize > 0 {
				out = append(out, f.limit("fileSize"))
			}
		case faultFork:
			if f.box.merged().Limits.Pids > 0 {
				out = append(out, f.limit("pids"))
			}
		case faultHost:
			out = append(out, f.host(&c)...)
		default:
			found := f.paths(&c)
			if len(found) == 0 && c.port && (c.fault == faultDenied || c.fault == faultPerm) {
				found = f.port()
			}
			out = append(out, found...)
		}
	}
	if slices.ContainsFunc(out, func(v Violation) bool { return v.Kind == kindHost && v.Subject != anyHost }) {
		out = slices.DeleteFunc(out, func(v Violation) bool { return v.Kind == kindHost && v.Subject == anyHost })
	}
	return out
}

// anyHost is what was refused where no host is known.
const anyHost = "the network"

// port tells that there is no listening, where the settings have none.
func (f *finder) port() []Violation {
	m := f.box.merged()
	v := Violation{Kind: kindHost, Subject: "a port of localhost", Op: opListen, Setting: fieldLocal, Origin: m.LocalBinding.Origin}
	switch {
	case !m.LocalBinding.Set:
		v.Hint = "remove " + fieldLocal + ": false if commands may listen on a localhost of their own"
	case f.box.weaker():
		v.Setting, v.Hint = "", "without namespaces, commands have no localhost of their own"
	default:
		return nil
	}
	return []Violation{v}
}

// paths are the first of the words in a complaint that the policy refuses.
func (f *finder) paths(c *errorLine) []Violation {
	for _, name := range c.names {
		if v := f.path(c, name); v != nil {
			return []Violation{*v}
		}
	}
	return nil
}

// path asks the policy about one word. With namespaces the kernel says EROFS or
// EBUSY where the policy refuses to write, and EACCES where it refuses to read.
// Without them Landlock says EACCES for both: then it was the policy only if the
// file's own mode would have allowed it.
func (f *finder) path(c *errorLine, name string) *Violation {
	p, err := realpath.Absolute(name, f.dir, variable(f.env, "HOME"))
	if err != nil {
		return nil
	}
	if _, err := os.Lstat(filepath.Dir(p)); err != nil && !os.IsPermission(err) && !strings.HasPrefix(name, "/") && !strings.HasPrefix(name, "../") {
		return nil // words of the message, and no path
	}
	switch c.fault {
	case faultReadOnly, faultBusy:
		return f.box.Explain(p, policy.OpWrite)
	case faultMissing:
		// Node's recursive mkdir says so where the kernel said EROFS.
		if c.makes && mayWrite(p) {
			return f.box.Explain(p, policy.OpWrite)
		}
	case faultDenied, faultPerm:
		if v := f.box.Explain(p, policy.OpRead); v != nil {
			return v
		}
		if v := f.program(name); v != nil {
			return v
		}
		if c.write && f.box.weaker() && mayWrite(p) {
			return f.box.Explain(p, policy.OpWrite)
		}
	}
	return nil
}

// program asks about the bare name of a program that could not be run.
func (f *finder) program(name string) *Violation {
	if strings.ContainsAny(name, "/ ") {
		return nil
	}
	for _, folder := range filepath.SplitList(variable(f.env, "PATH")) {
		if p := filepath.Join(folder, name); filepath.IsAbs(folder) && executable(p) == nil {
			v := f.box.Explain(p, policy.OpRead)
			if v != nil {
				v.Op = "run"
			}
			return v
		}
	}
	return nil
}

// mayWrite reports whether, but for the sandbox, we could write a path or make it.
func mayWrite(p string) bool {
	for {
		_, err := os.Lstat(p)
		if err == nil {
			return accessible(p)
		}
		up := filepath.Dir(p)
		if !os.IsNotExist(err) || up == p {
			return false
		}
		p = up
	}
}

// host tells of a host that the command looked for by itself. What the proxy told
// about it is not told twice.
func (f *finder) host(c *errorLine) []Violation {
	net := f.box.network()
	if len(f.hosts) > 0 && len(c.names) == 0 {
		return nil
	}
	what := anyHost
	if len(c.names) > 0 {
		what = c.names[0]
	}
	if f.hosts[what] || slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, what) {
		return nil
	}
	v := Violation{Kind: kindHost, Subject: what, Op: "connect", Setting: fieldDomains, Origin: f.box.merged().Network.Origin}
	if net == kernel.ProxyNetwork {
		v.Setting, v.Hint = "network", "the only way out is the proxy: the program must use HTTP_PROXY or ALL_PROXY"
	} else if len(c.names) > 0 {
		v.Hint = "to allow it: holdfast sandbox allow --host " + what
	} else {
		v.Hint = "add the host to " + fieldDomains + " if this is to be allowed"
	}
	return []Violation{v}
}

// callSettings are the settings that open a system call.
var callSettings = []struct{ call, setting string }{
	{unixSocket, fieldUnixSockets},
	{"bind", fieldLocal},
	{"listen", fieldLocal},
	{"unshare", "allowNestedSandbox"},
	{"setns", "allowNestedSandbox"},
	{"clone", "allowNestedSandbox"},
	{"mount", "allowNestedSandbox"},
}

// unixSocket is the beginning of the call that makes a unix socket.
const unixSocket = "socket(AF_UNIX"

func isUnixSocket(call string) bool { return strings.HasPrefix(call, unixSocket) }

func syscallViolation(call string) Violation {
	v := Violation{Kind: kindSyscall, Subject: call}
	for _, s := range callSettings {
		if strings.HasPrefix(call, s.call) {
			v.Setting = s.setting
			v.Hint = s.setting + " allows it"
			break
		}
	}
	return v
}

func isFileSizeSignal(s syscall.Signal) bool { return s == sigFileSize }
