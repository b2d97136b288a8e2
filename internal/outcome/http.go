package outcome

// These are the outcomes that only HTTP requests have. Exit is the exit code of a command that sent
// a request with this outcome.
var (
	Unauthenticated = Outcome{"unauthenticated", 3, 401, "the credential is missing or invalid"}
	Forbidden       = Outcome{"forbidden", 3, 403, "the credential does not have the scope, or the caller is an agent of this daemon"}
	NoMethod        = Outcome{"method_not_allowed", 2, 405, "the route does not accept this method; the header Allow lists the methods"}
	Conflict        = Outcome{"conflict", 7, 409, "the request conflicts with the current state"}
	Stale           = Outcome{"precondition_failed", 7, 412, "the resource has changed since it was read"}
	TooLarge        = Outcome{"too_large", 2, 413, "the body is too large"}
	MediaType       = Outcome{"unsupported_media_type", 2, 415, "the content type of the body is not accepted"}
	KeyReused       = Outcome{"idempotency_key_reused", 2, 422, "the Idempotency-Key was used for another request"}
	NeedsIfMatch    = Outcome{"precondition_required", 2, 428, "If-Match is missing"}
	NotOffered      = Outcome{"not_offered", 1, 501, "this daemon does not support the request"}
	Unavailable     = Outcome{"unavailable", 1, 503, "the daemon is shutting down or overloaded, or its store is unavailable; nothing was changed"}
	NoSpace         = Outcome{"no_space", 1, 507, "the disk of the store is full; nothing was changed"}
	requestsOnly    = []Outcome{
		Unauthenticated, Forbidden, NoMethod, Conflict, Stale, TooLarge, MediaType, KeyReused, NeedsIfMatch, NotOffered, Unavailable, NoSpace,
	}
)

// Requests returns the outcomes that only HTTP requests have, in the order of their status.
func Requests() []Outcome { return append([]Outcome(nil), requestsOnly...) }

// ByCode finds an outcome by its JSON code, so that a client can read a problem document.
func ByCode(code string) (Outcome, bool) {
	for _, o := range append(All(), requestsOnly...) {
		if o.Code == code {
			return o, true
		}
	}
	return Outcome{}, false
}
