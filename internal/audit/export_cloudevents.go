package audit

import (
	"fmt"
	"net/url"
	"time"
)

// cloudEvent returns an entry as a CloudEvents 1.0 event. Source and id, the session and the
// seq, are unique together, as the specification requires.
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

// subject returns which object of the session the event is about: the call, the approval request,
// or the grant.
func (e *Entry) subject() string {
	switch {
	case e.Use != "":
		return e.Use
	case e.Question != "":
		return e.Question
	}
	return e.Grant
}
