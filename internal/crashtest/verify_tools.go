package crashtest

import (
	"encoding/json"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/history"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// tools compares the tool uses in the log with the calls that ran. No call may have run twice or
// without a recorded start, and each result that the model got must be true.
func (f *Finding) tools(id string, recs []session.Record, ran map[string]Runs) {
	started := map[string]int{}
	for i := range recs {
		var err error
		switch recs[i].Kind {
		case record.KindToolStarted:
			var s record.ToolStarted
			err = json.Unmarshal(recs[i].Payload, &s)
			if started[s.Use]++; started[s.Use] == 2 {
				f.Reran++
				f.wrong("session %s: %s has two starts", id, s.Use)
			}
		case session.KindItem:
			err = f.results(id, recs[i], ran)
		}
		if err != nil {
			f.wrong("session %s, record %d: %v", id, recs[i].Seq, err)
		}
	}
	for use, r := range ran {
		if r.Times > 1 {
			f.Reran++
			f.wrong("session %s: %s ran %d times", id, use, r.Times)
		}
		if started[use] == 0 && !r.Late {
			f.wrong("session %s: %s ran but its start is not recorded", id, use)
		}
	}
}

// results compares the results in an item with the calls that ran.
func (f *Finding) results(id string, r session.Record, ran map[string]Runs) error {
	stored, err := record.ReadItem(r.Payload)
	if err != nil || len(stored.Item.ResultIDs()) == 0 {
		return err
	}
	it, err := stored.Item.Decode()
	if err != nil {
		return err
	}
	for _, p := range it.Parts {
		res, ok := p.(transcript.ToolResult)
		if !ok {
			continue
		}
		switch r := ran[res.UseID]; res.Text() {
		case history.OutcomeUnknown:
			f.Unknown++
		case history.NotRun:
			if r.Times > 0 && !r.Late {
				f.wrong("session %s: the model was told that %s did not run, but it ran", id, res.UseID)
			}
		default:
			if told := strings.HasPrefix(res.Text(), "ran"); told && r.Times == 0 {
				f.wrong("session %s: the model was told that %s ran, but it did not run", id, res.UseID)
			} else if !told && r.Times > 0 {
				f.wrong("session %s: the model was told %q about %s, but it ran", id, res.Text(), res.UseID)
			}
		}
	}
	return nil
}
