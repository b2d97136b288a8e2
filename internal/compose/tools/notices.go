package tools

import (
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/compose/env"
)

// Notices lists everything that has no effect in the run, with the reasons: skipped instructions,
// untrusted skills, invalid sub-agent definitions.
func (b *Toolbox) Notices() (list []env.Notice) {
	if b.Instructions != nil {
		for _, n := range b.Instructions.Notices() {
			list = append(list, env.Notice{Text: n})
		}
		list = append(list, b.skillNotices()...)
	}
	if b.workers == nil {
		return list
	}
	for _, p := range b.workers.problems {
		list = append(list, env.Notice{Text: fmt.Sprint(p), Hint: p.Hint})
	}
	return list
}

func (b *Toolbox) skillNotices() (list []env.Notice) {
	if b.skillSet == nil {
		return nil
	}
	if what := b.skillSet.Notice(); what != "" {
		list = append(list, env.Notice{Text: what, Hint: "review them with holdfast skills list, then run holdfast trust"})
	}
	for _, p := range b.skillSet.Set.Problems {
		list = append(list, env.Notice{Text: fmt.Sprintf("%v; the skill is skipped", p)})
	}
	return list
}
