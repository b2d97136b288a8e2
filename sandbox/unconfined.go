package sandbox

import "github.com/holdfast-dev/holdfast/internal/sandbox/kernel"

// openUnconfined implements [Open] with [OpenOptions].NoConfinement.
func openUnconfined() (*Sandbox, error) {
	c := &compiler{merged: mergeCheckers(nil, false), folders: []pathTree{{path: "/"}}, unconfined: true}
	s := &Sandbox{compiler: c, running: map[*kernel.Process]*kernel.Jail{}, uses: map[*kernel.Jail]int{}}
	if err := s.renew(); err != nil {
		return nil, err
	}
	return s, nil
}
