package credentials

import (
	"context"
	"os"

	"github.com/holdfast-dev/holdfast/internal/aws/sigv4"
)

// environment finds keys in the variables of AWS, and otherwise in those of MinIO.
func environment(context.Context) (found, error) {
	id, idName := firstOf("AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY")
	secret, secretName := firstOf("AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY")
	switch {
	case id != "" && secret != "":
		return found{keys: sigv4.Keys{ID: id, Secret: secret, Token: os.Getenv("AWS_SESSION_TOKEN")}}, nil
	case id != "":
		return found{}, halfSetError(idName, "AWS_SECRET_ACCESS_KEY")
	case secret != "":
		return found{}, halfSetError(secretName, "AWS_ACCESS_KEY_ID")
	}
	var incomplete error
	for _, names := range [][2]string{{"MINIO_ROOT_USER", "MINIO_ROOT_PASSWORD"}, {"MINIO_ACCESS_KEY", "MINIO_SECRET_KEY"}} {
		id, secret := os.Getenv(names[0]), os.Getenv(names[1])
		switch {
		case id != "" && secret != "":
			return found{keys: sigv4.Keys{ID: id, Secret: secret}}, nil
		case id != "":
			incomplete = halfSetError(names[0], names[1])
		case secret != "":
			incomplete = halfSetError(names[1], names[0])
		}
	}
	if incomplete != nil {
		return found{}, incomplete
	}
	return found{}, errNone
}

// firstOf returns the value and name of the first variable that is set.
func firstOf(names ...string) (value, name string) {
	for _, name := range names {
		if v := os.Getenv(name); v != "" {
			return v, name
		}
	}
	return "", ""
}

func halfSetError(there, missing string) error {
	return &Error{Source: "the environment", Err: halfError{there, missing}, Hint: "set both or neither"}
}
