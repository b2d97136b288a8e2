package audit

import (
	"fmt"
	"net/url"
	"time"
)

// cloudEvent is an entry as a CloudEvents 1.0 event. Source and id together are unique,
// as the specification wants it: the session and the seq.
func cloudEvent(e *Entry) any {
	return struct {
		SpecVersion string    `json:"specversion"`
		ID          string    `json:"id"`
		Source      string    `json:"source"`
		Type        string    `json:"type"`
		Time        time.Time `json:"time"`
		Subject     string    `json:"subject,omitempty"`
		ContentType string    `json:"datacontenttype"`
		Data        *Entry    `json:"data"`
	}{
		SpecVersion: "1.0",
		ID:          fmt.Sprintf("%s/%d", e.Session, e.Seq),
		Source:      "/holdfast/sessions/" + url.PathEscape(e.Session),
		Type:        "dev.holdfast.audit." + e.Kind,
		Time:        e.Time,
		Subject:     e.subject(),
		ContentType: "application/json",
		Data:        e,
	}
}

// subject is what the event is about within its session: the call, the question, the
// grant.
func (e *Entry) subject() string {
	switch {
	case e.Use != "":
		return e.Use
	case e.Question != "":
		return e.Question
	}
	return e.Grant
}
