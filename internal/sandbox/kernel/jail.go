//go:build linux && (amd64 || arm64)

package kernel

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/holdfast-dev/holdfast/internal/sandbox/cgroup"
	"github.com/holdfast-dev/holdfast/internal/sandbox/seccomp"
)

// Jail starts commands under one policy. It is safe for concurrent use.
type Jail struct {
	policy       *Policy
	weaker       bool
	reexec       bool // start commands through a copy of this program
	abi          int
	memory       int64 // the memory limit in bytes that this process enforces because no control group does; 0 means no limit
	ptmxLink     bool
	top          []string // the entries of "/" that are readable if the policy's Read contains "/"
	rlimits      []rlimit
	instructions []seccomp.Instruction
	group        *cgroup.Group
	placeholders placeholders // used without a quarantine
	watch        nameWatcher  // used with a quarantine
	sharedSpaces *sharedSpaces
	temp         string // the folder that replaces /tmp in the weaker mode, if the jail created it

	program *program // shared by all commands
	cut     int      // the index at which the steps for a command's descriptors and folder are inserted
	fork    int      // the index after which init and the command run different steps
	proxy   int      // the offset in the data of the address of the proxy's listener; 0 means none
}

// Prepare checks the policy against the file system and the kernel's features. A policy that cannot be
// enforced completely is an error; [Policy].Weaker accepts less. Prepare does not keep p.
func Prepare(p *Policy) (*Jail, error) {
	policy := *p
	for _, list := range []*[]string{&policy.Read, &policy.List, &policy.Write, &policy.Hide, &policy.ReadOnly, &policy.Pin} {
		*list = slices.Clone(*list)
	}
	policy.Forbid = slices.Clone(p.Forbid)
	if policy.Open {
		return pidNamespace()
	}
	j := &Jail{policy: &policy, reexec: mustReexec, sharedSpaces: &sharedSpaces{jails: 1}}
	if err := j.check(); err != nil {
		return nil, err
	}
	if err := j.probe(); err != nil {
		return nil, err
	}
	if err := j.applyLimits(); err != nil {
		return nil, err
	}
	if err := j.compile(); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	if policy.Quarantine != "" {
		j.watch.names, j.watch.store = policy.Forbid, policy.Quarantine
	} else {
		j.placeholders.names = policy.Forbid
	}
	return j, nil
}

// check rejects invalid policies.
func (j *Jail) check() error {
	p := j.policy
	names := make([]string, len(p.Forbid))
	for i, n := range p.Forbid {
		names[i] = n.Path
	}
	for kind, list := range map[string][]string{
		"read": p.Read, "list": p.List, "write": p.Write, "hide": p.Hide, "read-only": p.ReadOnly, "pin": p.Pin, "forbid": names,
	} {
		for _, name := range list {
			if !path.IsAbs(name) || path.Clean(name) != name || strings.ContainsRune(name, 0) {
				return fmt.Errorf("%s %q: not a clean absolute path", kind, name)
			}
			if kind == "forbid" {
				continue
			}
			var st unix.Stat_t
			if err := unix.Lstat(name, &st); err != nil {
				return fmt.Errorf("%s %s: %w", kind, name, err)
			}
			if st.Mode&unix.S_IFMT == unix.S_IFLNK {
				return fmt.Errorf("%s %s: it is a symbolic link", kind, name)
			}
		}
	}
	if mode, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0); p.Nested || err != nil || mode != 0 {
		p.Notify = false // only one listener is possible: a filter around this one may have it already, or one inside may need it
	}
	return nil
}

// probe tests what the kernel supports.
func (j *Jail) probe() error {
	var err error
	j.abi, err = ll.LandlockGetABIVersion()
	if err != nil {
		return fmt.Errorf("%w: Landlock is not enabled in this kernel (%w)", ErrUnsupported, err)
	}
	if j.policy.Weaker {
		if err := Namespaces(); err != nil {
			j.weaker = true
		}
	}
	if j.weaker && j.abi < 3 {
		return fmt.Errorf("%w: without namespaces, Landlock must be of ABI 3 or later, and this is %d", ErrUnsupported, j.abi)
	}
	if j.weaker {
		j.policy.LocalBind = false // without a network namespace there is no private localhost
	}
	if j.weaker && j.policy.Network == ProxyNetwork {
		return fmt.Errorf("%w: network settings need a network namespace", ErrUnsupported)
	}
	var st unix.Stat_t
	j.ptmxLink = unix.Lstat("/dev/ptmx", &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK
	entries, err := os.ReadDir("/")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if n := e.Name(); n != "dev" && n != "proc" && n != "sys" && n != "run" && e.Type()&os.ModeSymlink == 0 {
			j.top = append(j.top, "/"+n)
		}
	}
	return nil
}

// compile builds the program that all commands share.
func (j *Jail) compile() error {
	var err error
	j.instructions, err = seccomp.Filter(&seccomp.Options{
		Inet: !j.weaker && j.policy.Network != NoSockets, TCPOnly: !j.policy.LocalBind, // Landlock's port rules cover only TCP
		Unix: j.policy.Unix != UnixNone, Nested: j.policy.Nested,
		KeepProcessGroup: j.weaker, Notify: j.policy.Notify, Writes: j.policy.Notify,
	})
	if err != nil {
		return err
	}
	p := newProgram()
	var grants []grant
	if j.weaker {
		if grants, err = j.weakerGrants(); err != nil {
			return err
		}
	} else {
		j.addFiles(p)
		j.addNetwork(p)
		grants = j.grants()
	}
	j.cut = len(p.ops)
	j.addLimits(p)
	j.addDropCapabilities(p)
	j.addFilter(p)
	j.fork = len(p.ops)
	j.addLandlock(p, grants)
	j.program = p
	return nil
}

// Weaker reports whether commands run without namespaces.
func (j *Jail) Weaker() bool { return j.weaker }

// Close releases the resources of the jail. All commands should have ended.
func (j *Jail) Close() error {
	j.placeholders.remove()
	j.watch.close()
	j.sharedSpaces.close()
	var err error
	if j.group != nil {
		err = j.group.Close()
	}
	if j.temp != "" {
		err = errors.Join(err, os.RemoveAll(j.temp))
	}
	return err
}

func (j *Jail) isDir(name string) bool {
	var st unix.Stat_t
	return unix.Lstat(name, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

func (j *Jail) exists(name string) bool {
	var st unix.Stat_t
	return unix.Lstat(name, &st) == nil
}
