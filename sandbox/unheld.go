package sandbox

import "github.com/holdfast-dev/holdfast/internal/sandbox/kernel"

// openUnheld is [Open] with [OpenOptions].Unheld.
func openUnheld() (*Sandbox, error) {
	c := &compiler{merged: mergeCheckers(nil, false), folders: []area{{path: "/"}}, unheld: true}
	s := &Sandbox{compiler: c, running: map[*kernel.Process]*kernel.Jail{}, uses: map[*kernel.Jail]int{}}
	if err := s.renew(); err != nil {
		return nil, err
	}
	return s, nil
}
