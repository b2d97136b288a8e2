package audit

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/version"
	"github.com/holdfast-dev/holdfast/policy"
)

// ocsfVersion is the version of the OCSF schema that the events follow.
const ocsfVersion = "1.3.0"

// The event classes of entries (docs/reference/audit.md has the whole mapping).
const (
	categoryIAM, categoryApplication   = 3, 6
	classEntity, classAPI              = 3004, 6003 // Entity Management, API Activity
	classAuthentication                = 3002
	activityUnknown, activityOther     = 0, 99
	activityCreate, activityRead       = 1, 2
	activityUpdate, activityDelete     = 3, 4
	activityLogoff                     = 2
	severityInfo, severityLow          = 1, 2
	severityMedium                     = 3
	statusUnknown, statusOK, statusBad = 0, 1, 2
)

// object is a JSON object.
type object = map[string]any

// ocsf returns an entry as an event of the Open Cybersecurity Schema Framework. Changes of the
// policy and of tokens become Entity Management, logins become Authentication, and all other
// entries become API Activity. raw_data has the whole entry, so that its digest can be verified.
func ocsf(e *Entry) any {
	activity := e.activity()
	class, category, className, categoryName := classAPI, categoryApplication, "API Activity", "Application Activity"
	switch {
	case e.Kind == KindAccess && e.authenticates():
		class, category, className, categoryName = classAuthentication, categoryIAM, "Authentication", "Identity & Access Management"
	case e.Kind == KindPolicy || e.Kind == KindAccess:
		class, category, className, categoryName = classEntity, categoryIAM, "Entity Management", "Identity & Access Management"
	}
	name := e.activityName(activity)
	raw, err := Canonical(e)
	if err != nil {
		raw = nil // the encoding of the event then fails in the same way
	}
	meta := object{
		"version": ocsfVersion, "uid": fmt.Sprintf("%s/%d", e.Session, e.Seq), "sequence": e.Seq,
		"correlation_uid": e.Session, "log_name": "session",
		"product": object{"name": "Holdfast", "vendor_name": "Holdfast", "version": version.Current().Version},
	}
	ev := object{
		"activity_id": activity, "activity_name": name,
		"category_uid": category, "category_name": categoryName, "class_uid": class, "class_name": className,
		"type_uid": class*100 + activity, "type_name": className + ": " + name,
		"severity_id": e.severity(), "time": e.Time.UnixMilli(), "message": e.Sentence(),
		"metadata": meta,
		"actor":    e.ocsfActor(), "raw_data": string(raw),
	}
	id, status := e.status()
	ev["status_id"], ev["status"] = id, status
	if e.Outcome != "" {
		ev["status_detail"] = e.Outcome
	}
	if e.ExitCode != nil {
		ev["status_code"] = fmt.Sprint(*e.ExitCode)
	}
	if e.Millis > 0 {
		ev["duration"] = e.Millis
	}
	switch class {
	case classEntity:
		ev["entity"] = e.entity()
		return ev
	case classAuthentication:
		ev["user"], ev["service"] = e.ocsfUser(), object{"name": "holdfast"}
		ev["src_endpoint"] = object{"name": cmp.Or(e.From, "unknown")}
		if ip, err := netip.ParseAddr(e.From); err == nil {
			ev["src_endpoint"] = object{"ip": ip.String()}
		}
		return ev
	}
	e.ocsfAPI(ev)
	e.ocsfControl(ev, meta)
	return ev
}

// activity returns the OCSF activity: what the call does to its first resource, or what the program
// does to the session.
func (e *Entry) activity() int {
	switch {
	case e.Erased:
		return activityUnknown
	case e.Kind == KindAccess && e.Action == ActionLogout:
		return activityLogoff
	case e.Kind == KindAccess && e.Action == ActionRevoke:
		return activityDelete
	case e.Kind == KindAccess: // for a login this number means Logon
		return activityCreate
	case e.Kind == KindPolicy && (e.Action == actionGrant || e.Action == actionPatch), e.Kind == KindSession, e.Action == actionStart:
		return activityCreate
	case e.Kind == KindPolicy && (e.Action == ActionRevoke || e.Action == actionEnd), e.Kind == KindRedaction:
		return activityDelete
	case e.Kind == KindPolicy, e.Kind == KindRun:
		return activityUpdate
	case e.Kind == KindHook || len(e.Resources) == 0:
		return activityOther
	}
	switch op := policy.Operation(e.Resources[0].Operation); {
	case op == policy.OpRead || op == policy.OpSecret:
		return activityRead
	case op == policy.OpWrite && slices.ContainsFunc(e.Changes, func(c record.FileChange) bool { return c.Before == "absent" }):
		return activityCreate
	case op == policy.OpWrite:
		return activityUpdate
	}
	return activityOther
}

func (e *Entry) activityName(id int) string {
	if e.Kind == KindAccess && e.authenticates() && id != activityUnknown {
		return map[int]string{activityCreate: "Logon", activityLogoff: "Logoff"}[id]
	}
	switch id {
	case activityUnknown:
		return "Unknown"
	case activityCreate:
		return "Create"
	case activityRead:
		return "Read"
	case activityUpdate:
		return "Update"
	case activityDelete:
		return "Delete"
	}
	return e.Action
}

func (e *Entry) severity() int {
	switch {
	case e.Kind == KindRedaction, e.Erased, e.Outcome == outcomeUnknown:
		return severityMedium
	case e.refused() || e.Outcome == outcomeError:
		return severityLow
	}
	return severityInfo
}

// refused reports whether the entry is a denial.
func (e *Entry) refused() bool {
	return e.Action == "deny" || e.Action == "block" || e.Action == actionAnswer && strings.HasPrefix(e.Outcome, "deny")
}

func (e *Entry) status() (int, string) {
	switch {
	case e.Erased || e.Outcome == outcomeUnknown || e.Outcome == outcomeBackground:
		return statusUnknown, "Unknown"
	case e.refused() || e.Outcome == outcomeError || e.Outcome == outcomeNotRun:
		return statusBad, "Failure"
	}
	return statusOK, "Success"
}

// ocsfActor returns the account on whose behalf the session runs, and who decided. A person is the
// user; any other decider is the application.
func (e *Entry) ocsfActor() object {
	a := object{"session": object{"uid": e.Session}, "app_name": "holdfast"}
	switch {
	case e.Actor.Kind == actorPerson:
		a["user"] = object{"name": e.Actor.Name}
		if e.Actor.Via != "" {
			a["app_name"] = "holdfast " + e.Actor.Via
		}
	case e.OnBehalfOf != "":
		a["user"] = object{"name": e.OnBehalfOf}
	}
	return a
}

// authenticates reports whether an access is a login, a logout, or a rejected credential.
func (e *Entry) authenticates() bool {
	return e.Action == ActionLogin || e.Action == ActionLogout || e.Action == ActionRefuse
}

// ocsfUser returns the user who logged in or out.
func (e *Entry) ocsfUser() object {
	o := object{"name": cmp.Or(e.Actor.Name, "unknown")}
	for _, r := range e.Resources {
		if r.Operation == "login" {
			o["uid"] = r.Name
		}
	}
	return o
}

// ocsfAPI sets the fields that API Activity requires.
func (e *Entry) ocsfAPI(ev object) {
	op := e.Tool
	if op == "" {
		op = e.Kind + "." + e.Action
	}
	api := object{"operation": op, "service": object{"name": "holdfast"}}
	if e.Use != "" {
		api["request"] = object{"uid": e.Use}
	}
	ev["api"] = api
	ev["src_endpoint"] = object{"name": "holdfast", "instance_uid": e.Session}
	var list []object
	for i, r := range e.Resources {
		res := object{"name": r.Name}
		if r.Operation != "" {
			res["type"] = r.Operation
		}
		if i < len(e.Requests) {
			res["uid"] = e.Requests[i]
		}
		list = append(list, res)
	}
	if list != nil {
		ev["resources"] = list
	}
}

// ocsfControl adds the profile security_control to decisions.
func (e *Entry) ocsfControl(ev, meta object) {
	var action, disposition int
	switch {
	case e.Kind != KindDecision && e.Kind != KindApproval || e.Action == "ask" || e.Erased:
		return
	case e.refused():
		action, disposition = 2, 2 // Denied, Blocked
	default:
		action, disposition = 1, 1 // Allowed, Allowed
	}
	ev["action_id"], ev["disposition_id"] = action, disposition
	meta["profiles"] = []string{"security_control"}
	by := object{"name": e.Actor.String()}
	if e.Rule != nil {
		by["uid"], by["desc"] = e.ruleText(), "at "+e.rulePlace()
	}
	ev["authorizations"] = []object{{"decision": []string{"", "allowed", "denied"}[action], "policy": by}}
}

// entity returns the policy that was changed.
func (e *Entry) entity() object {
	name := "permissions of session " + e.Session
	if e.Tool != "" {
		name = "permissions of " + e.Tool + " in session " + e.Session
	}
	o := object{"name": name, "type": "policy"}
	if e.Kind == KindAccess {
		o["name"], o["type"] = "link that logs in a browser", "link"
		for _, r := range e.Resources {
			switch r.Operation {
			case "token":
				o["uid"], o["type"] = r.Name, "token"
			case "name":
				o["name"] = r.Name
			}
		}
	}
	if e.Grant != "" {
		o["uid"], o["type"] = e.Grant, "grant"
	}
	if e.Policy > 0 {
		o["version"] = fmt.Sprint(e.Policy)
	}
	data := object{"action": e.Action}
	if list := e.resources(); list != nil {
		data["scope"] = list
	}
	if e.Outcome != "" {
		data["value"] = e.Outcome
	}
	o["data"] = data
	return o
}
