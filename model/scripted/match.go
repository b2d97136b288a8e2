package scripted

import (
	"fmt"
	"strings"
)

// next returns the step that answers a request.
func (s *script) next(sc *requestView) (int, error) {
	for i, st := range s.steps {
		if st.when != nil && st.when.fits(sc) {
			return i, st.checkExpect(sc)
		}
	}
	at, known := s.byMark[sc.after]
	skip := sc.without
	if !known {
		at = -1
	}
	for i := at + 1; i < len(s.steps); i++ {
		st := s.steps[i]
		if st.when != nil {
			continue
		}
		if skip > 0 {
			skip--
			continue
		}
		return i, st.checkExpect(sc)
	}
	return 0, fmt.Errorf("no step of the script matches: %s; expected: %s", sc, s.conditions())
}

func (st *step) checkExpect(sc *requestView) error {
	if st.expect == nil || st.expect.fits(sc) {
		return nil
	}
	return fmt.Errorf("step %s expects %s; received: %s", st.mark, st.expect, sc)
}

// conditions lists the conditions of the steps, for an error message.
func (s *script) conditions() string {
	var all []string
	for _, st := range s.steps {
		if st.when != nil {
			all = append(all, fmt.Sprintf("%s (step %s)", st.when, st.mark))
		}
	}
	if len(all) == 0 {
		return "nothing, because its last step has been used"
	}
	return strings.Join(all, ", or ")
}

func (m *match) fits(sc *requestView) bool {
	if m.User != "" && !strings.Contains(sc.user, m.User) ||
		m.user != nil && (sc.user == "" || !m.user.MatchString(sc.user)) ||
		m.Notification != "" && !strings.Contains(sc.notifications, m.Notification) ||
		m.notification != nil && (sc.notifications == "" || !m.notification.MatchString(sc.notifications)) ||
		m.System != "" && !strings.Contains(sc.system, m.System) ||
		m.After != "" && m.After != sc.after ||
		m.MinItems > 0 && sc.items < m.MinItems ||
		m.MaxItems > 0 && sc.items > m.MaxItems {
		return false
	}
	if m.Tool == "" && m.Result == "" && m.result == nil && m.IsError == nil {
		return true
	}
	for _, r := range sc.results {
		if (m.Tool == "" || m.Tool == r.tool) && strings.Contains(r.text, m.Result) &&
			(m.result == nil || m.result.MatchString(r.text)) && (m.IsError == nil || *m.IsError == r.isError) {
			return true
		}
	}
	return false
}

func (m *match) String() string {
	var all []string
	add := func(given bool, format string, v any) {
		if given {
			all = append(all, fmt.Sprintf(format, v))
		}
	}
	add(m.User != "", "user containing %q", m.User)
	add(m.UserMatches != "", "user matching %q", m.UserMatches)
	add(m.Notification != "", "notification containing %q", m.Notification)
	add(m.NotificationMatches != "", "notification matching %q", m.NotificationMatches)
	add(m.Tool != "", "result of %s", m.Tool)
	add(m.Result != "", "result containing %q", m.Result)
	add(m.ResultMatches != "", "result matching %q", m.ResultMatches)
	if m.IsError != nil {
		add(true, "is_error %v", *m.IsError)
	}
	add(m.System != "", "system prompt containing %q", m.System)
	add(m.After != "", "after step %s", m.After)
	add(m.MinItems > 0, "at least %d items", m.MinItems)
	add(m.MaxItems > 0, "at most %d items", m.MaxItems)
	if len(all) == 0 {
		return "anything"
	}
	return strings.Join(all, " and ")
}
