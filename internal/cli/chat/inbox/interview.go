package inbox

import (
	"slices"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/cli/question"
	"github.com/holdfast-dev/holdfast/internal/conversation"
)

// interview is a question of the program itself: it is asked like an approval request, but its answer
// goes to no daemon.
type interview struct {
	name string
	ask  func(*question.Asker)
	done func()
}

// interviewID takes the place of the approval's id.
const interviewID = "interview"

// Interview asks questions of the program, such as whether an MCP server may start, before all
// others. It calls ask when they are shown, and again if the user goes back to their beginning; done
// is called after the last answer.
func (i *Inbox) Interview(name string, ask func(*question.Asker), done func()) {
	i.list = slices.Insert(i.list, 0, &entry{q: conversation.Question{Request: approval.Request{ID: interviewID}}, own: &interview{name, ask, done}})
	for _, e := range i.list {
		e.lines = cache{} // their numbers have changed
	}
	i.ensureCurrent()
}

// Interviewing reports whether a question of the program waits.
func (i *Inbox) Interviewing() bool {
	return slices.ContainsFunc(i.list, func(e *entry) bool { return e.own != nil })
}

// EndInterview leaves the questions of the program unanswered.
func (i *Inbox) EndInterview() {
	for _, e := range i.list {
		if e.own != nil {
			i.endInterview(e)
			return
		}
	}
}

func (i *Inbox) endInterview(e *entry) {
	if e.dialog != nil {
		e.dialog.Close()
	}
	i.list = slices.DeleteFunc(i.list, func(o *entry) bool { return o == e })
	i.ensureCurrent()
	e.own.done()
}
