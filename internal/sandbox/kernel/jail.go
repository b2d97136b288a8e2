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
	reexec       bool // start commands by way of our own program
	abi          int
	memory       int64 // bytes that we watch ourselves, where no control group does; 0: none
	ptmxLink     bool
	top          []string // what of "/" a policy means that reads it
	rlimits      []rlimit
	instructions []seccomp.Instruction
	group        *cgroup.Group
	bars         placeholders // with placeholders
	watch        nameWatcher  // with a quarantine
	room         *room
	temp         string // in the weaker mode: what stands for /tmp, when it is ours

	program *program // what all commands share
	cut     int      // where in it a command's descriptors and folder come
	fork    int      // where in it init and the command part
	proxy   int      // where its data has the address of the proxy's listener; 0: there is none
}

// Prepare looks at what the policy names and what the kernel can do. A policy that
// cannot be held whole is an error; [Policy].Weaker widens what is accepted. The
// policy is not kept.
func Prepare(p *Policy) (*Jail, error) {
	own := *p
	for _, list := range []*[]string{&own.Read, &own.List, &own.Write, &own.Hide, &own.ReadOnly, &own.Pin} {
		*list = slices.Clone(*list)
	}
	own.Forbid = slices.Clone(p.Forbid)
	if own.Open {
		return pidNamespace()
	}
	j := &Jail{policy: &own, reexec: mustReexec, room: &room{jails: 1}}
	if err := j.check(); err != nil {
		return nil, err
	}
	if err := j.probe(); err != nil {
		return nil, err
	}
	if err := j.bound(); err != nil {
		return nil, err
	}
	if err := j.compile(); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	if own.Quarantine != "" {
		j.watch.names, j.watch.store = own.Forbid, own.Quarantine
	} else {
		j.bars.names = own.Forbid
	}
	return j, nil
}

// check refuses what makes no sense.
func (j *Jail) check() error {
	p := j.policy
	names := make([]string, len(p.Forbid))
	for i, n := range p.Forbid {
		names[i] = n.Path
	}
	for what, list := range map[string][]string{
		"read": p.Read, "list": p.List, "write": p.Write, "hide": p.Hide, "fix": p.ReadOnly, "pin": p.Pin, "bar": names,
	} {
		for _, name := range list {
			if !path.IsAbs(name) || path.Clean(name) != name || strings.ContainsRune(name, 0) {
				return fmt.Errorf("%s %q: not a clean absolute path", what, name)
			}
			if what == "bar" {
				continue
			}
			var st unix.Stat_t
			if err := unix.Lstat(name, &st); err != nil {
				return fmt.Errorf("%s %s: %w", what, name, err)
			}
			if st.Mode&unix.S_IFMT == unix.S_IFLNK {
				return fmt.Errorf("%s %s: it is a symbolic link", what, name)
			}
		}
	}
	if mode, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0); p.Nested || err != nil || mode != 0 {
		p.Notify = false // there can be one listener only, and the filters around or inside this one may have it
	}
	return nil
}

// probe finds out what the kernel can do.
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
		j.policy.LocalBind = false // there is no localhost of its own
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

// compile writes the program that all commands share.
func (j *Jail) compile() error {
	var err error
	j.instructions, err = seccomp.Filter(&seccomp.Options{
		Inet: !j.weaker && j.policy.Network != NoSockets, TCPOnly: !j.policy.LocalBind, // the rules on ports are about TCP
		Unix: j.policy.Unix != UnixNone, Nested: j.policy.Nested,
		KeepProcessGroup: j.weaker, Notify: j.policy.Notify, Writes: j.policy.Notify,
	})
	if err != nil {
		return err
	}
	p := newProgram()
	var grants []grant
	if j.weaker {
		if grants, err = j.split(); err != nil {
			return err
		}
	} else {
		j.files(p)
		j.network(p)
		grants = j.grants()
	}
	j.cut = len(p.ops)
	j.limits(p)
	j.capabilities(p)
	j.filter(p)
	j.fork = len(p.ops)
	j.landlock(p, grants)
	j.program = p
	return nil
}

// Weaker says whether commands run without namespaces.
func (j *Jail) Weaker() bool { return j.weaker }

// Close removes what was made for the commands. They should have ended.
func (j *Jail) Close() error {
	j.bars.remove()
	j.watch.remove()
	j.room.close()
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
