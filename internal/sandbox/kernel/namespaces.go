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

// Namespaces returns nil if namespaces can be created. To test this, it creates them once.
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

// NamespacesOnce is like Namespaces, but records success in a file and does not test again until
// the next reboot. If the kernel stops allowing namespaces before the reboot, commands fail to
// start. A failure is not recorded.
func NamespacesOnce(file string) error {
	current := conditions()
	if known, err := os.ReadFile(file); err == nil && current != "" && string(known) == current {
		return nil
	}
	err := Namespaces()
	if err == nil && current != "" {
		_ = diskfile.WriteUnsynced(file, []byte(current)) // if the write fails, the next call tests again
	}
	return err
}

// conditions identifies the conditions of a test: the boot of the machine, the user, and the confinement of this
// process. It returns "" if they are unknown.
func conditions() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	profile, _ := os.ReadFile("/proc/self/attr/current") // the profile of AppArmor or SELinux, if present
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
