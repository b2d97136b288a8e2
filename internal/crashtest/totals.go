package crashtest

import "fmt"

// Totals are the totals of a series of trials.
type Totals struct {
	Trials  int
	Killed  int // trials in which the child had not finished before the kill
	Acked   int // records
	Late    int // of these, records reported after the kill had begun; they are not checked
	Lost    int // of the others
	Broken  int // trials after which something acknowledged was lost or unreadable
	Unacked int // stored records without an ack
	Resumed int // resumes that were accepted
	Cut     int // torn tails that were cut and reported
	Ran     int // tool uses
	Reran   int // how many of them ran more than once
	Unknown int // interrupted tool uses whose outcome is unknown
}

func (t *Totals) String() string {
	return fmt.Sprintf("%d trials, %d struck before the end; %d records acknowledged (%d too late to count), %d lost (%d trials with loss); "+
		"%d more on disk than reported; %d resumes accepted; %d torn tails cut; %d tool runs, %d repeated, %d of unknown outcome",
		t.Trials, t.Killed, t.Acked, t.Late, t.Lost, t.Broken, t.Unacked, t.Resumed, t.Cut, t.Ran, t.Reran, t.Unknown)
}

// Add adds the report of a child.
func (t *Totals) Add(r *Report) {
	t.Trials++
	if !r.Done {
		t.Killed++
	}
	t.Acked += len(r.Acks)
	t.Resumed += r.Resumed
	t.Cut += len(r.Cut)
}

// Found adds the result of a verification.
func (t *Totals) Found(f *Finding) {
	t.Lost += f.Lost
	t.Reran += f.Reran
	if len(f.Problem) > 0 {
		t.Broken++
	}
}
