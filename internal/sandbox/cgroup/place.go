//go:build linux

package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
)

// system is the machine, or in tests a folder with copies of its files.
type system struct {
	root         string // prefix of every path
	mkdir, rmdir func(string) error
	writable     func(string) bool
}

func machine() *system {
	return &system{mkdir: func(p string) error { return os.Mkdir(p, 0o755) }, rmdir: syscall.Rmdir, writable: writable}
}

// writable checks the rights of the effective user, and whether the mount is writable.
func writable(p string) bool {
	const atEaccess, wOK = 0x200, 2
	return syscall.Faccessat(-100 /* AT_FDCWD */, p, wOK, atEaccess) == nil
}

// place is a folder in which groups can be created.
type place struct {
	version     int
	dir         string
	controllers []string // controllers that the groups in dir should have
	enable      []string // for version 2: the controllers that dir does not yet give to groups in it
}

// places returns where to create groups with the given controllers, one place for each hierarchy. The
// *[UnavailableError] names a missing one.
func (s *system) places(wanted []string) ([]place, error) {
	all, err := s.hierarchies()
	if err != nil {
		return nil, err
	}
	var out []place
	var unified []string
	for _, c := range wanted {
		i := slices.IndexFunc(all, func(h hierarchy) bool { return slices.Contains(h.controllers, c) })
		if i < 0 {
			unified = append(unified, c)
			continue
		}
		if why := s.whyUnusable(&all[i]); why != "" {
			return nil, &UnavailableError{Controller: c, Reason: why, hint: hintV1}
		}
		if j := slices.IndexFunc(out, func(p place) bool { return p.dir == all[i].current }); j >= 0 {
			out[j].controllers = append(out[j].controllers, c)
			continue
		}
		out = append(out, place{version: 1, dir: all[i].current, controllers: []string{c}})
	}
	if len(unified) == 0 {
		return out, nil
	}
	i := slices.IndexFunc(all, func(h hierarchy) bool { return h.version == 2 })
	if i < 0 {
		return nil, &UnavailableError{Controller: unified[0], Reason: "no hierarchy with it is mounted", hint: hintNone}
	}
	p, err := s.unified(&all[i], unified)
	if err != nil {
		return nil, err
	}
	return append(out, p), nil
}

// Hints for a missing controller.
const (
	hintV1   = "run as root, or remove the limit from the settings"
	hintV2   = "start it with: systemd-run --user --scope -p Delegate=yes holdfast …"
	hintNone = "mount the control groups, or remove the limit from the settings"
)

func (s *system) hierarchies() ([]hierarchy, error) {
	mounts, err := os.ReadFile(s.root + "/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("list of mounts: %w", err)
	}
	membership, err := os.ReadFile(s.root + "/proc/self/cgroup")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // a kernel without control groups
	}
	if err != nil {
		return nil, fmt.Errorf("list of control groups: %w", err)
	}
	return hierarchies(string(mounts), string(membership))
}

// whyUnusable returns the reason why no groups can be created in this process's group of version 1, or
// "".
func (s *system) whyUnusable(h *hierarchy) string {
	switch {
	case h.current == "":
		return h.mount + " does not show the group that this process is in"
	case !s.writable(s.root + h.current):
		return h.current + " is not writable"
	}
	return ""
}

// unified searches the groups of version 2 from this process's group upwards. It returns the
// nearest group that gives the controllers to groups in it or, if there is none, the nearest that
// can be changed to do so.
func (s *system) unified(h *hierarchy, wanted []string) (place, error) {
	if p, ok := s.nearest(h, wanted); ok {
		return p, nil
	}
	for _, c := range wanted {
		if _, ok := s.nearest(h, []string{c}); !ok {
			return place{}, s.explain(h, c)
		}
	}
	return place{}, s.explain(h, wanted[len(wanted)-1]) // each controller is available somewhere, but no place has all of them
}

func (s *system) nearest(h *hierarchy, wanted []string) (place, bool) {
	var able *place
	for _, dir := range upwards(h) {
		switch p, ok := s.hasControllers(dir, wanted); {
		case ok && len(p.enable) == 0:
			return p, true
		case ok && able == nil:
			able = &p
		}
	}
	if able == nil {
		return place{}, false
	}
	return *able, true
}

// upwards returns this process's group and its parents, up to the mount point.
func upwards(h *hierarchy) []string {
	if h.current == "" {
		return nil
	}
	out := []string{h.current}
	for dir := h.current; dir != h.mount && dir != "/"; {
		dir = path.Dir(dir)
		out = append(out, dir)
	}
	return out
}

// hasControllers reports whether groups in a folder have the controllers or can get them. A group
// with processes cannot give controllers to groups in it, unless it is the root. Moving a process
// from this process's group to a group below dir also requires write access to dir's list of
// processes.
func (s *system) hasControllers(dir string, wanted []string) (place, bool) {
	p := place{version: 2, dir: dir, controllers: wanted}
	kind := s.readWords(dir, "cgroup.type")
	top := len(kind) == 0
	if !top && kind[0] != "domain" || !s.writable(s.root+dir) || !s.writable(s.root+path.Join(dir, "cgroup.procs")) {
		return p, false
	}
	available, enabled := s.readWords(dir, "cgroup.controllers"), s.readWords(dir, "cgroup.subtree_control")
	for _, c := range wanted {
		switch {
		case slices.Contains(enabled, c):
		case slices.Contains(available, c) && (top || len(s.readWords(dir, "cgroup.procs")) == 0) &&
			s.writable(s.root+path.Join(dir, "cgroup.subtree_control")):
			p.enable = append(p.enable, c)
		default:
			return p, false
		}
	}
	return p, true
}

// readWords reads the words of a group's file; nil if it cannot be read.
func (s *system) readWords(dir, name string) []string {
	b, err := os.ReadFile(s.root + path.Join(dir, name))
	if err != nil {
		return nil
	}
	return strings.Fields(string(b))
}

func (s *system) explain(h *hierarchy, controller string) *UnavailableError {
	e := &UnavailableError{Controller: controller, hint: hintV2}
	dirs := upwards(h)
	switch {
	case h.current == "":
		e.Reason, e.hint = h.mount+" does not show the group that this process is in", hintNone
	case !slices.Contains(s.readWords(h.mount, "cgroup.controllers"), controller):
		e.Reason, e.hint = h.mount+" does not have the controller", hintNone
	case !slices.ContainsFunc(dirs, func(d string) bool { return s.writable(s.root + d) }):
		e.Reason = h.current + " and its parents are not writable"
	default:
		e.Reason = "no writable group from " + h.current + " upwards can delegate the controller"
	}
	return e
}
