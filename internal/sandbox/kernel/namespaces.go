//go:build linux && (amd64 || arm64)

package kernel

import (
	"bytes"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/holdfast-dev/holdfast/internal/diskfile"
)

// Namespaces says whether namespaces can be made here, by making them once.
var Namespaces = sync.OnceValue(func() error {
	j := &Jail{policy: &Policy{}, reexec: mustReexec}
	p := newProgram()
	p.begin("make / read-only")
	all := p.words(attrRead, 0, unix.MS_PRIVATE, 0)
	p.call(unix.SYS_MOUNT_SETATTR, num(atCwd), p.path("/"), num(unix.AT_RECURSIVE), at(all), num(32))
	p.begin("mount /proc")
	p.call(unix.SYS_MOUNT, p.path("proc"), p.path("/proc"), p.path("proc"), num(unix.MS_NOSUID|unix.MS_NOEXEC|unix.MS_NODEV), num(0))
	p.call(unix.SYS_EXIT_GROUP, num(0))
	j.program, j.cut, j.fork = p, len(p.ops), len(p.ops)
	proc, err := j.Start(&Attr{})
	if err == nil {
		_, err = proc.Wait()
	}
	return err
})

// NamespacesOnce is Namespaces, tried once since the machine started: that they could be made
// is remembered in a file. Where that has changed since, commands are refused when they start.
// That they could not be made is not remembered.
func NamespacesOnce(file string) error {
	here := place()
	if known, err := os.ReadFile(file); err == nil && here != "" && string(known) == here {
		return nil
	}
	err := Namespaces()
	if err == nil && here != "" {
		_ = diskfile.WriteUnsynced(file, []byte(here)) // it is tried again then
	}
	return err
}

// place tells where namespaces were tried: since which start of the machine, by whom, and
// inside of what. It is "" where that is not known.
func place() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	profile, _ := os.ReadFile("/proc/self/attr/current") // of AppArmor or SELinux, where there is one
	filter, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0)
	if err != nil {
		return ""
	}
	var root unix.Stat_t
	if err := unix.Stat("/", &root); err != nil {
		return ""
	}
	b := fmt.Appendf(nil, "boot %s\nuser %d %d\nfilter %d\nprofile %q\nroot %d %d\n",
		bytes.TrimSpace(boot), os.Geteuid(), os.Getegid(), filter, profile, root.Dev, root.Ino)
	for _, kind := range []string{"user", "mnt", "pid"} {
		name, err := os.Readlink("/proc/self/ns/" + kind)
		if err != nil {
			return ""
		}
		b = fmt.Appendln(b, name)
	}
	return string(b)
}
