package object

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/holdfast-dev/holdfast/internal/aws/credentials"
	"github.com/holdfast-dev/holdfast/internal/s3"
	"github.com/holdfast-dev/holdfast/session"
)

// explain converts an error to an error of package session that names the attempted operation.
func (s *Store) explain(ctx context.Context, op, id string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*session.BusyError](err); ok {
		return e
	}
	if cause := ctx.Err(); cause != nil {
		if errors.Is(cause, context.DeadlineExceeded) {
			s.bucket.client.CloseIdleConnections() // the server may have disappeared, so requests on idle connections would get no answer either
		}
		return cause
	}
	if e, ok := errors.AsType[*session.Error](err); ok {
		out := *e
		if out.Op == "" {
			out.Op = op
		}
		if out.Session == "" {
			out.Session = id
		}
		return &out
	}
	e := &session.Error{Op: op, Session: id, Err: err}
	for _, sentinel := range []error{
		session.ErrNotFound, session.ErrExists, session.ErrFenced, session.ErrConflict,
		session.ErrClosed, session.ErrInvalid,
	} {
		if errors.Is(err, sentinel) {
			e.Err = sentinel
			return e
		}
	}
	switch {
	case errors.Is(err, session.ErrNewer):
		e.Err, e.Detail, e.Hint = session.ErrNewer, err.Error(), "upgrade holdfast"
	case errors.Is(err, errDamaged):
		e.Err, e.Detail, e.Hint = session.ErrCorrupt, s.url+": "+err.Error(), "inspect the object, and run: holdfast sessions verify "+id
	case errors.Is(err, errMissing), errors.Is(err, errTaken), errors.Is(err, errMoved):
		e.Err, e.Detail, e.Hint = session.ErrBusy, s.url+": "+err.Error(), "there are concurrent writes; try again"
	default:
		s.explainServer(e, err)
	}
	return e
}

// explainServer explains an error of the server.
func (s *Store) explainServer(e *session.Error, err error) {
	if k, ok := errors.AsType[*credentials.Error](err); ok {
		e.Err, e.Detail, e.Hint = session.ErrInvalid, s.url+": "+k.Error(), k.Hint
		if k.Remote {
			e.Err = session.ErrUnavailable
		}
		return
	}
	r, ok := errors.AsType[*s3.Error](err)
	if !ok {
		e.Err = session.ErrUnavailable
		e.Detail, e.Hint = s.url+" cannot be reached: "+err.Error(), "check that the endpoint is correct and reachable"
		return
	}
	e.Detail = s.url + ": " + r.Code + ": " + err.Error()
	switch {
	case r.Code == "NoSuchBucket":
		e.Err, e.Hint = session.ErrNotFound, "create the bucket first"
		e.Detail = s.url + ": no such bucket " + s.bucket.name
	case r.WrongRegion:
		e.Err, e.Hint = session.ErrInvalid, "set region="+r.Region+" in the URL"
		e.Detail = s.url + ": the bucket is in the region " + r.Region
	case r.Location != "":
		e.Err, e.Hint = session.ErrInvalid, "use the server's own address as the endpoint"
		e.Detail = s.url + ": the server redirects to " + hostOf(r.Location)
	case r.Unsigned && (r.Status == http.StatusForbidden || r.Status == http.StatusUnauthorized):
		e.Err, e.Hint = session.ErrReadOnly, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or profile=NAME in the URL"
		e.Detail = s.url + ": no keys were found, and the server rejects unsigned requests"
	case r.Code == "AccessDenied" || r.Code == "AllAccessDisabled" || r.Code == "MethodNotAllowed":
		e.Err, e.Hint = session.ErrReadOnly, "the key needs s3:GetObject, PutObject, DeleteObject and ListBucket below the prefix"
	case r.Status == http.StatusInsufficientStorage || r.Code == "XMinioStorageFull" || r.Code == "QuotaExceeded" ||
		r.Code == "XMinioAdminBucketQuotaExceeded" || r.Code == "ServiceQuotaExceeded":
		e.Err, e.Hint = session.ErrFull, "free space in the bucket"
	case r.Status >= http.StatusInternalServerError, r.Status == http.StatusTooManyRequests:
		e.Err, e.Hint = session.ErrUnavailable, "the server is starting or overloaded; try again"
	case r.Code == "EntityTooLarge":
		e.Err, e.Hint = session.ErrInvalid, "the batch is too large for one object"
	case r.Code == "InvalidAccessKeyId" || r.Code == "SignatureDoesNotMatch" || r.Code == "InvalidTokenId":
		e.Hint = "check the key and the secret"
	case r.Code == "ExpiredToken":
		e.Hint = "get new keys: those from the environment or a file have expired"
	case r.Code == "RequestTimeTooSkewed":
		e.Hint = "correct this machine's clock"
		if r.Skew != 0 {
			e.Detail = s.url + ": " + r.Code + ": " + skew(r.Skew)
		}
	}
}

// skew describes the difference of two clocks.
func skew(d time.Duration) string {
	if d < 0 {
		return "this machine's clock is " + (-d).Round(time.Second).String() + " ahead of the server's"
	}
	return "this machine's clock is " + d.Round(time.Second).String() + " behind the server's"
}

// hostOf returns the scheme and host of an address.
func hostOf(location string) string {
	u, err := url.Parse(location)
	if err != nil || u.Host == "" {
		return "another address"
	}
	return u.Scheme + "://" + u.Host
}
