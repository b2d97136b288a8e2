package sandbox

import "github.com/holdfast-dev/holdfast/internal/sandbox/kernel"

// Unheld returns what runs commands like a sandbox, and refuses them nothing: they
// see, write and reach what this process does. Only what they start does not
// outlive them, however it detaches itself.
//
// It needs a pid namespace: process numbers inside are the command's own, while
// /proc is the host's. For an ordinary user it needs a user namespace as well, in
// which sudo does not work. Where the kernel has none for us the error is an
// *[OpenError] that wraps [kernel.ErrUnsupported]. The caller closes it.
func Unheld() (*Sandbox, error) {
	c := &compiler{merged: Merge(nil), folders: []area{{path: "/"}}, unheld: true}
	s := &Sandbox{compiler: c, running: map[*kernel.Process]*kernel.Jail{}, uses: map[*kernel.Jail]int{}}
	if err := s.renew(); err != nil {
		return nil, err
	}
	return s, nil
}
