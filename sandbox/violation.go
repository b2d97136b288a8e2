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

// finder finds the refusals of the sandbox that affected a command that has ended.
type finder struct {
	box   *Sandbox
	dir   string   // where the command started
	env   []string // its environment
	hosts map[string]bool
}

// limits adds the limits that were reached.
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

// addRefusedHosts adds the hosts that the proxy refused.
func (f *finder) addRefusedHosts(list []Violation) []Violation {
	for i := range list {
		if list[i].Kind == kindHost {
			host, _, _ := strings.Cut(list[i].Subject, ":")
			f.hosts[host] = true
		}
	}
	return list
}

// addErrorLines adds the errors in the command's output that the policy explains. Other errors are the
// program's own.
func (f *finder) addErrorLines(list []errorLine) []Violation {
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
	if slices.ContainsFunc(out, func(v Violation) bool { return v.Kind == kindHost && v.Subject != unknownHost }) {
		out = slices.DeleteFunc(out, func(v Violation) bool { return v.Kind == kindHost && v.Subject == unknownHost })
	}
	return out
}

// unknownHost is the subject if no host is known.
const unknownHost = "the network"

// port reports a refused attempt to listen on a port.
func (f *finder) port() []Violation {
	m := f.box.merged()
	v := Violation{Kind: kindHost, Subject: "a port of localhost", Op: opListen, Setting: fieldLocal, Origin: m.LocalBinding.Origin}
	switch {
	case !m.LocalBinding.Set:
		v.Hint = "to let commands listen on a private localhost, remove " + fieldLocal + ": false"
	case f.box.weaker():
		v.Setting, v.Hint = "", "without namespaces, commands have no private localhost"
	default:
		return nil
	}
	return []Violation{v}
}

// paths returns the first words of an error line that the policy refuses.
func (f *finder) paths(c *errorLine) []Violation {
	for _, name := range c.names {
		if v := f.path(c, name); v != nil {
			return []Violation{*v}
		}
	}
	return nil
}

// path checks one word against the policy. With namespaces the kernel returns EROFS or EBUSY if the
// policy refuses to write, and EACCES if it refuses to read. Without namespaces, Landlock returns
// EACCES for both. The policy is then the cause only if the file's mode would have allowed the
// operation.
func (f *finder) path(c *errorLine, name string) *Violation {
	p, err := realpath.Absolute(name, f.dir, variable(f.env, "HOME"))
	if err != nil {
		return nil
	}
	if _, err := os.Lstat(filepath.Dir(p)); err != nil && !os.IsPermission(err) && !strings.HasPrefix(name, "/") && !strings.HasPrefix(name, "../") {
		return nil // the words are part of the message and are not a path
	}
	switch c.fault {
	case faultReadOnly, faultBusy:
		return f.box.Explain(p, policy.OpWrite)
	case faultMissing:
		// Node's recursive mkdir reports this for EROFS.
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

// program checks the bare name of a program that could not be run.
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

// mayWrite reports whether this process could write or create a path without the sandbox.
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

// host reports a host that the command looked up itself. Hosts that the proxy reported are not
// repeated.
func (f *finder) host(c *errorLine) []Violation {
	net := f.box.network()
	if len(f.hosts) > 0 && len(c.names) == 0 {
		return nil
	}
	host := unknownHost
	if len(c.names) > 0 {
		host = c.names[0]
	}
	if f.hosts[host] || slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, host) {
		return nil
	}
	v := Violation{Kind: kindHost, Subject: host, Op: "connect", Setting: fieldDomains, Origin: f.box.merged().Network.Origin}
	if net == kernel.ProxyNetwork {
		v.Setting, v.Hint = "network", "the network is reachable only through the proxy: the program must use HTTP_PROXY or ALL_PROXY"
	} else if len(c.names) > 0 {
		v.Hint = "to allow it: holdfast sandbox allow --host " + host
	} else {
		v.Hint = "to allow this, add the host to " + fieldDomains
	}
	return []Violation{v}
}

// callSettings are the settings that allow a system call.
var callSettings = []struct{ call, setting string }{
	{unixSocket, fieldUnixSockets},
	{"bind", fieldLocal},
	{"listen", fieldLocal},
	{"unshare", "allowNestedSandbox"},
	{"setns", "allowNestedSandbox"},
	{"clone", "allowNestedSandbox"},
	{"mount", "allowNestedSandbox"},
}

// unixSocket is the start of the name of the call that creates a unix socket.
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
