//go:build linux && (amd64 || arm64)

package kernel

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// The kinds of mounts.
const (
	mountWrite    = iota // the host's path, writable
	mountRead            // a path of the host, read-only, that is visible although a new folder covers a folder above it
	mountReadOnly        // the path itself, read-only
	mountPin             // the path itself
	mountHide            // an empty file or folder that no one may access
	mountTemp            // a folder of the new file system in memory
)

type mount struct {
	kind   int
	path   string
	dir    bool
	fresh  bool   // a new folder: mount points below it must be created
	origin string // for mountTemp, the name of the folder; for mountWrite, the host's path
	from   arg    // the descriptor of the mount, once the mount is open
}

const (
	attrRead  = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID
	attrWrite = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
)

// within reports whether p is base or below it.
func within(p, base string) bool {
	return p == base || base == "/" || strings.HasPrefix(p, base) && p[len(base)] == '/'
}

func anyContains(list []string, p string) bool {
	return slices.ContainsFunc(list, func(base string) bool { return within(p, base) })
}

// mounts returns the mounts of a policy, each folder before its content.
func (j *Jail) mounts() []mount {
	p := j.policy
	var list []mount
	fresh := []string{"/dev/shm", "/dev/pts"}
	list = append(list, mount{kind: mountTemp, path: "/dev/shm", dir: true, fresh: true, origin: "shm"})
	if p.Caches != "" {
		list = append(list, mount{kind: mountWrite, path: CachesDir, dir: true, origin: p.Caches})
		for _, c := range p.CacheMounts {
			list = append(list, mount{kind: mountWrite, path: c.Path, dir: true, origin: p.Caches + "/" + c.Folder})
		}
	}
	for _, tmp := range []string{"/tmp", "/var/tmp"} {
		if !anyContains(p.Write, tmp) && !anyContains(p.Hide, tmp) && j.isDir(tmp) {
			fresh = append(fresh, tmp)
			m := mount{kind: mountTemp, path: tmp, dir: true, fresh: true, origin: "tmp"}
			if p.Temp != "" {
				m.kind, m.origin = mountWrite, p.Temp
			}
			list = append(list, m)
		}
	}
	for _, w := range p.Write {
		if !slices.ContainsFunc(p.Write, func(other string) bool { return other != w && within(w, other) }) {
			list = append(list, mount{kind: mountWrite, path: w, dir: j.isDir(w), origin: w})
		}
	}
	for _, r := range p.Read {
		if anyContains(fresh, r) && !anyContains(p.Write, r) {
			list = append(list, mount{kind: mountRead, path: r, dir: j.isDir(r)})
		}
	}
	covered := func(path string) bool { // a new folder covers the path, so the host's content there is not visible
		return anyContains(fresh, path) && !slices.ContainsFunc(list, func(m mount) bool {
			return (m.kind == mountWrite || m.kind == mountRead) && !m.fresh && m.path != CachesDir && within(path, m.path)
		})
	}
	add := func(kind int, paths []string) {
		for _, path := range paths {
			if !covered(path) {
				list = append(list, mount{kind: kind, path: path, dir: j.isDir(path)})
			}
		}
	}
	add(mountHide, p.Hide)
	add(mountPin, p.Pin)
	add(mountReadOnly, p.ReadOnly)
	for _, n := range p.Forbid {
		if p.Quarantine == "" && !covered(n.Path) {
			list = append(list, mount{kind: mountReadOnly, path: n.Path, dir: j.isDir(n.Path)})
		}
	}
	slices.SortStableFunc(list, func(a, b mount) int { return strings.Compare(a.path+"/", b.path+"/") })
	return slices.CompactFunc(list, func(a, b mount) bool { return a.path == b.path && a.kind == b.kind })
}

// addFiles adds the steps that create the command's view of the file system.
func (j *Jail) addFiles(p *program) {
	list := j.mounts()
	writable := p.words(attrWrite, 0, unix.MS_PRIVATE, 0)
	const size = 32
	tree := func(path string, dir bool) *instruction {
		flags := unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_SYMLINK_NOFOLLOW
		if dir {
			flags |= unix.AT_RECURSIVE
		}
		return p.call(unix.SYS_OPEN_TREE, num(atCwd), p.path(path), num(flags))
	}
	for i, m := range list {
		if m.kind != mountWrite {
			continue
		}
		p.begin("open " + m.origin + " for writing")
		list[i].from = p.newSlot(tree(m.origin, m.dir))
		p.call(unix.SYS_MOUNT_SETATTR, list[i].from, p.path(""), num(unix.AT_EMPTY_PATH|unix.AT_RECURSIVE), at(writable), num(size))
	}

	p.begin("make everything read-only")
	all := p.words(attrRead, 0, unix.MS_PRIVATE, 0)
	p.call(unix.SYS_MOUNT_SETATTR, num(atCwd), p.path("/"), num(unix.AT_RECURSIVE), at(all), num(size))
	for i, m := range list {
		if m.kind == mountReadOnly || m.kind == mountRead {
			p.begin("make " + m.path + " read-only")
			list[i].from = p.newSlot(tree(m.path, m.dir))
		}
	}
	// Folders on the path to a mount point in a fresh folder must be accessible, whatever the caller's umask.
	storeSlot(p.call(unix.SYS_UMASK, num(0)), slotUmask)
	j.addTmpfs(p, list)
	for i, m := range list {
		j.addMount(p, list[i], tmpfsAbove(list[:i], m.path))
	}
	p.call(unix.SYS_UMASK, slot(slotUmask))
	j.addDevices(p)
}

// tmpfsAbove returns the fresh folder in which a mount point must be created, or "".
func tmpfsAbove(before []mount, p string) string {
	for _, m := range slices.Backward(before) {
		if within(p, m.path) && p != m.path {
			if m.fresh {
				return m.path
			}
			return ""
		}
	}
	return ""
}

// addMount attaches one mount at its path.
func (j *Jail) addMount(p *program, m mount, fresh string) {
	p.begin("mount " + m.path)
	if fresh != "" {
		for at := len(fresh) + 1; ; {
			i := strings.IndexByte(m.path[at:], '/')
			if i < 0 {
				break
			}
			at += i
			p.try(unix.SYS_MKDIRAT, num(atCwd), p.path(m.path[:at]), num(0o755))
			at++
		}
		if m.dir {
			p.try(unix.SYS_MKDIRAT, num(atCwd), p.path(m.path), num(0o755))
		} else {
			p.try(unix.SYS_MKNODAT, num(atCwd), p.path(m.path), num(unix.S_IFREG|0o644), num(0))
		}
	}
	from := m.from
	switch m.kind {
	case mountPin:
		flags := unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC
		if m.dir {
			flags |= unix.AT_RECURSIVE
		}
		from = p.newSlot(p.call(unix.SYS_OPEN_TREE, num(atCwd), p.path(m.path), num(flags)))
	case mountHide:
		name := "file"
		if m.dir {
			name = "folder"
		}
		from = p.newSlot(p.call(unix.SYS_OPEN_TREE, slot(slotMasks), p.path(name), num(unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)))
	}
	p.call(unix.SYS_MOVE_MOUNT, from, p.path(""), num(atCwd), p.path(m.path), num(unix.MOVE_MOUNT_F_EMPTY_PATH))
}

// addTmpfs creates a file system in memory. Its folders are mounted at /tmp and /dev/shm, and its
// inaccessible entries cover hidden paths.
func (j *Jail) addTmpfs(p *program, list []mount) {
	p.begin("create a file system in memory")
	config := func(fs arg, cmd int, key, value string) {
		k, v := num(0), num(0)
		if key != "" {
			k, v = p.path(key), p.path(value)
		}
		p.call(unix.SYS_FSCONFIG, fs, num(cmd), k, v, num(0))
	}
	fs := p.newSlot(p.call(unix.SYS_FSOPEN, p.path("tmpfs"), num(unix.FSOPEN_CLOEXEC)))
	if j.policy.TempSize > 0 {
		config(fs, unix.FSCONFIG_SET_STRING, "size", itoa(j.policy.TempSize))
	}
	config(fs, unix.FSCONFIG_CMD_CREATE, "", "")
	root := p.newSlot(p.call(unix.SYS_FSMOUNT, fs, num(unix.FSMOUNT_CLOEXEC), num(attrWrite)))
	made := map[string]bool{}
	for i, m := range list {
		if m.kind != mountTemp {
			continue
		}
		if !made[m.origin] {
			made[m.origin] = true
			p.call(unix.SYS_MKDIRAT, root, p.path(m.origin), num(0o1777))
		}
		list[i].from = p.newSlot(p.call(unix.SYS_OPEN_TREE, root, p.path(m.origin), num(unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)))
	}
	if slices.ContainsFunc(list, func(m mount) bool { return m.kind == mountHide }) {
		p.call(unix.SYS_MKDIRAT, root, p.path("folder"), num(0))
		p.call(unix.SYS_MKNODAT, root, p.path("file"), num(unix.S_IFREG), num(0))
		closed := p.words(unix.MOUNT_ATTR_RDONLY|attrWrite|unix.MOUNT_ATTR_NOEXEC, 0, 0, 0)
		p.call(unix.SYS_MOUNT_SETATTR, root, p.path(""), num(unix.AT_EMPTY_PATH), at(closed), num(32))
		storeSlot(p.call(unix.SYS_DUP, root), slotMasks)
	}
	// Attach it where the next mount covers it, so that no process sees it. A file system that is not
	// attached anywhere is unmounted when its descriptor is closed, and the kernel waits for that.
	p.call(unix.SYS_MOVE_MOUNT, root, p.path(""), num(atCwd), p.path("/dev/shm"), num(unix.MOVE_MOUNT_F_EMPTY_PATH))
}

// addDevices mounts the command's private terminals and processes.
func (j *Jail) addDevices(p *program) {
	const plain = unix.MS_NOSUID | unix.MS_NOEXEC
	p.begin("mount /dev/pts")
	p.call(unix.SYS_MOUNT, p.path("devpts"), p.path("/dev/pts"), p.path("devpts"), num(plain), p.path("newinstance,ptmxmode=0666,mode=0620"))
	if !j.ptmxLink {
		ptmx := p.newSlot(p.call(unix.SYS_OPEN_TREE, num(atCwd), p.path("/dev/pts/ptmx"), num(unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)))
		p.call(unix.SYS_MOVE_MOUNT, ptmx, p.path(""), num(atCwd), p.path("/dev/ptmx"), num(unix.MOVE_MOUNT_F_EMPTY_PATH))
	}
	p.begin("mount /proc")
	flags := plain | unix.MS_NODEV
	if !j.policy.Nested {
		flags |= unix.MS_RDONLY
	}
	p.call(unix.SYS_MOUNT, p.path("proc"), p.path("/proc"), p.path("proc"), num(flags), num(0))
	if j.policy.Nested { // to set its id maps, a nested namespace needs a writable /proc; the machine's settings in it stay read-only
		for _, name := range []string{"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus"} {
			if j.exists(name) {
				j.addReadOnly(p, name)
			}
		}
	}
}

func (j *Jail) addReadOnly(p *program, name string) {
	from := p.newSlot(p.call(unix.SYS_OPEN_TREE, num(atCwd), p.path(name), num(unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)))
	read := p.words(attrRead, 0, 0, 0)
	p.call(unix.SYS_MOUNT_SETATTR, from, p.path(""), num(unix.AT_EMPTY_PATH), at(read), num(32))
	p.call(unix.SYS_MOVE_MOUNT, from, p.path(""), num(atCwd), p.path(name), num(unix.MOVE_MOUNT_F_EMPTY_PATH))
}

// devicesForAll are the devices that every command may use.
var devicesForAll = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}
