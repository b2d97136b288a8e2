package chat

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/internal/project"
	"github.com/holdfast-dev/holdfast/internal/runlog"
	"github.com/holdfast-dev/holdfast/session"
)

const (
	dayTime    = time.Minute     // how often the cost of the day is read
	branchTime = 3 * time.Second // and the branch
)

// surroundings is what the status line shows and no event tells: the cost of the day and the branch.
type surroundings struct {
	day      runlog.Day
	cost     float64 // of the day, as it was read
	run      float64 // the cost of the run at that time
	costAt   time.Time
	branch   string
	branchAt time.Time
	busy     bool // they are being read
}

// dayUSD returns the cost of the day with what the run cost since it was read; 0 if it is not known.
func (u *ui) dayUSD() float64 {
	a := &u.around
	if a.costAt.IsZero() {
		return 0
	}
	since := u.conv.State().Usage.CostUSD
	if since >= a.run { // the same run
		since -= a.run
	}
	return a.cost + since
}

// lookAround reads the surroundings again if it is time.
func (u *ui) lookAround() {
	a, now := &u.around, u.now()
	cost := u.s != nil && now.Sub(a.costAt) >= dayTime
	branch := now.Sub(a.branchAt) >= branchTime
	if a.busy || !cost && !branch {
		return
	}
	a.busy = true
	s, cwd, run := u.s, u.cwd, u.conv.State().Usage.CostUSD
	u.later(func(ctx context.Context) func() {
		name, usd := project.Branch(cwd), 0.0
		var err error
		if cost {
			err = s.withStore(ctx, func(list *session.Sessions) error {
				usd, err = a.day.Cost(ctx, list, now)
				return err
			})
		}
		return func() {
			a.busy, a.branch, a.branchAt = false, name, now
			if cost && err == nil {
				a.cost, a.run = usd, run
			}
			if cost {
				a.costAt = now // also after an error, which the next look may not have
			}
		}
	})
}
