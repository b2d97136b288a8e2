package wire

// Code is the machine-readable code of an error. The names are those of CommaAgents' protocol.
type Code string

// The codes of the messages error and strategy_error.
const (
	CodeParse               Code = "PARSE_ERROR"      // the frame is not one JSON object, or has a duplicate key
	CodeValidation          Code = "VALIDATION_ERROR" // a field is missing or unknown, or its value cannot be used
	CodeInvalidMessage      Code = "INVALID_MESSAGE"  // unknown message type
	CodeInternal            Code = "INTERNAL_ERROR"
	CodePrepareFailed       Code = "PREPARE_FAILED"
	CodeStartFailed         Code = "START_FAILED"
	CodeContinueFailed      Code = "CONTINUE_FAILED"
	CodeExecution           Code = "EXECUTION_ERROR" // of a run
	CodeCancelled           Code = "CANCELLED"       // of a run
	CodeInterrupted         Code = "INTERRUPTED"     // the daemon ended during the run
	CodeNoPendingInput      Code = "NO_PENDING_INPUT"
	CodeNoPendingPermission Code = "NO_PENDING_PERMISSION"
	CodeRunNotFound         Code = "RUN_NOT_FOUND"
	CodeRunNotSteerable     Code = "RUN_NOT_STEERABLE"
	CodeSubscribe           Code = "SUBSCRIBE_ERROR"
	CodeConflict            Code = "CONFLICT"          // ifVersion, or a state that changed meanwhile
	CodeUnauthorized        Code = "UNAUTHORIZED"      // missing or invalid credential
	CodeForbidden           Code = "FORBIDDEN"         // the credential lacks the scope
	CodeRateLimited         Code = "RATE_LIMITED"      // the client sent too many messages in too short a time
	CodeTooLarge            Code = "MESSAGE_TOO_LARGE" // the daemon then closes the connection
	CodeDraining            Code = "DRAINING"          // the daemon is shutting down
	CodeUnavailable         Code = "STORE_UNAVAILABLE" // the store is unreachable or full; try again
)

// codes lists the codes.
func codes() []Code {
	return []Code{
		CodeParse, CodeValidation, CodeInvalidMessage, CodeInternal, CodePrepareFailed, CodeStartFailed, CodeContinueFailed,
		CodeExecution, CodeCancelled, CodeInterrupted, CodeNoPendingInput, CodeNoPendingPermission, CodeRunNotFound,
		CodeRunNotSteerable, CodeSubscribe, CodeConflict, CodeUnauthorized, CodeForbidden, CodeRateLimited, CodeTooLarge,
		CodeDraining, CodeUnavailable,
	}
}
