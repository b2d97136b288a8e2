//go:build linux && (amd64 || arm64)

package kernel

import (
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Access rights on files, named like the lists of a policy.
const (
	rightsList  = ll.AccessFSReadDir
	rightsRead  = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSReadDir
	rightsWrite = rightsRead | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSRemoveDir | ll.AccessFSRemoveFile |
		ll.AccessFSMakeDir | ll.AccessFSMakeReg | ll.AccessFSMakeSock | ll.AccessFSMakeFifo | ll.AccessFSMakeSym | ll.AccessFSRefer
	rightsDevice   = ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate
	rightsTerminal = rightsDevice | ll.AccessFSReadDir | ll.AccessFSIoctlDev
	rightsOfFile   = ll.AccessFSExecute | ll.AccessFSWriteFile | ll.AccessFSReadFile | ll.AccessFSTruncate | ll.AccessFSIoctlDev

	rightsProc = ll.AccessFSReadFile | ll.AccessFSReadDir | ll.AccessFSWriteFile
)

// The types of Landlock rules (include/uapi/linux/landlock.h).
const (
	rulePathBeneath = 1
	ruleNetPort     = 2
)

// handledFiles returns the file rights that a version of Landlock supports.
func handledFiles(abi int) uint64 {
	all := uint64(ll.AccessFSMakeSym<<1 - 1)
	if abi >= 2 {
		all |= ll.AccessFSRefer
	}
	if abi >= 3 {
		all |= ll.AccessFSTruncate
	}
	if abi >= 5 {
		all |= ll.AccessFSIoctlDev
	}
	return all
}

// grant is an access right to a tree, or to one file.
type grant struct {
	path   string
	rights uint64
	file   bool
	gone   bool // the path may no longer exist when a command starts
}

// addLandlock adds the ruleset. Its rules apply to the files to which the paths lead when it is
// created, so this step comes after the mounts.
func (j *Jail) addLandlock(p *program, grants []grant) {
	p.begin("restrict files with Landlock")
	handled := handledFiles(j.abi)
	var nets, scopes uint64
	if j.abi >= 4 {
		nets = ll.AccessNetBindTCP | ll.AccessNetConnectTCP
	}
	if j.abi >= 6 {
		scopes = ll.ScopeSignal
		if j.policy.Unix != UnixAll {
			scopes |= ll.ScopeAbstractUnixSocket
		}
	}
	if j.policy.LocalBind {
		nets = 0 // every reachable address belongs to the command
	}
	size := 8
	switch {
	case scopes != 0:
		size = 24
	case nets != 0:
		size = 16
	}
	rules := p.words(handled, nets, scopes)
	storeSlot(p.call(unix.SYS_LANDLOCK_CREATE_RULESET, at(rules), num(size), num(0)), slotRuleset)
	for _, g := range grants {
		rights := g.rights & handled
		if g.file {
			rights &= rightsOfFile
		}
		p.begin("allow " + g.path)
		call := p.call
		if g.gone {
			call = p.try
		}
		rule := p.words(rights, uint64(^uint32(0))) // no descriptor yet
		storeData(call(unix.SYS_OPENAT, num(atCwd), p.path(g.path), num(unix.O_PATH|unix.O_CLOEXEC), num(0)), rule+8)
		call(unix.SYS_LANDLOCK_ADD_RULE, slot(slotRuleset), num(rulePathBeneath), at(rule), num(0))
	}
	if nets != 0 && j.policy.Network == ProxyNetwork {
		p.begin("allow the proxy's port")
		port := p.words(ll.AccessNetConnectTCP, uint64(proxyPort))
		p.call(unix.SYS_LANDLOCK_ADD_RULE, slot(slotRuleset), num(ruleNetPort), at(port), num(0))
	}
	p.begin("restrict files with Landlock")
	p.call(unix.SYS_LANDLOCK_RESTRICT_SELF, slot(slotRuleset), num(0))
}

// grants returns the rights of a command in a mount namespace.
func (j *Jail) grants() []grant {
	p := j.policy
	list := []grant{
		{path: "/dev/shm", rights: rightsWrite},
		{path: "/dev/pts", rights: rightsTerminal},
		{path: "/dev/ptmx", rights: rightsTerminal, file: true},
		{path: "/proc", rights: rightsProc},
	}
	for _, tmp := range []string{"/tmp", "/var/tmp"} {
		if j.isDir(tmp) && !anyContains(p.Hide, tmp) {
			list = append(list, grant{path: tmp, rights: rightsWrite})
		}
	}
	for _, c := range p.CacheMounts {
		list = append(list, grant{path: c.Path, rights: rightsWrite})
	}
	return append(list, j.namedGrants(p.Read, p.Write, p.List)...)
}

// namedGrants returns the rights on the paths that the policy names.
func (j *Jail) namedGrants(read, write, names []string) []grant {
	var list []grant
	add := func(paths []string, rights uint64) {
		for _, path := range paths {
			list = append(list, grant{path: path, rights: rights, file: !j.isDir(path)})
		}
	}
	for _, dev := range devicesForAll {
		list = append(list, grant{path: dev, rights: rightsDevice, file: true})
	}
	for _, r := range read {
		if r == "/" {
			add([]string{"/"}, rightsList)
			for _, name := range j.top {
				list = append(list, grant{path: name, rights: rightsRead, file: !j.isDir(name), gone: true})
			}
			continue
		}
		add([]string{r}, rightsRead)
	}
	add(write, rightsWrite)
	add(names, rightsList)
	return list
}
