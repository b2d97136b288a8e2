package outcome

// What only a request can come to. Exit is that of a command which is answered so.
var (
	Unauthenticated = Outcome{"unauthenticated", 3, 401, "there is no credential, or one that is not good"}
	Forbidden       = Outcome{"forbidden", 3, 403, "the credential does not allow this"}
	NoMethod        = Outcome{"method_not_allowed", 2, 405, "this place takes other methods; the header Allow names them"}
	Conflict        = Outcome{"conflict", 7, 409, "it does not fit how things stand now"}
	Stale           = Outcome{"precondition_failed", 7, 412, "it has changed since it was read"}
	TooLarge        = Outcome{"too_large", 2, 413, "the body is larger than what is taken"}
	MediaType       = Outcome{"unsupported_media_type", 2, 415, "the body is of another type than JSON"}
	KeyReused       = Outcome{"idempotency_key_reused", 2, 422, "the Idempotency-Key belongs to another request"}
	NeedsIfMatch    = Outcome{"precondition_required", 2, 428, "it must be said, by If-Match, what is to be changed"}
	NotOffered      = Outcome{"not_offered", 1, 501, "this daemon does not offer it"}
	Unavailable     = Outcome{"unavailable", 1, 503, "not now: the daemon is about to end, has too much to do, or its store is away"}
	NoSpace         = Outcome{"no_space", 1, 507, "the disk of the store is full"}
	requestsOnly    = []Outcome{
		Unauthenticated, Forbidden, NoMethod, Conflict, Stale, TooLarge, MediaType, KeyReused, NeedsIfMatch, NotOffered, Unavailable, NoSpace,
	}
)

// Requests lists the outcomes that only a request over HTTP has, by status.
func Requests() []Outcome { return append([]Outcome(nil), requestsOnly...) }

// ByCode finds an outcome by its name in JSON: a client's way back from a problem.
func ByCode(code string) (Outcome, bool) {
	for _, o := range append(All(), requestsOnly...) {
		if o.Code == code {
			return o, true
		}
	}
	return Outcome{}, false
}
