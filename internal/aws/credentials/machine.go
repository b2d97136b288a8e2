package credentials

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
)

// machineKeys requests the keys of the machine's role from the metadata service of EC2. If no service
// answers, there is no role. Version 2 of the interface requires a token. If the token does not
// arrive, which happens in containers on another network, version 1 is used, which requires none.
//
// Source: "Use IMDSv2", Amazon EC2 user guide.
func (e endpoints) machineKeys(ctx context.Context) (found, error) {
	if strings.EqualFold(os.Getenv("AWS_EC2_METADATA_DISABLED"), "true") {
		return found{}, errNone
	}
	fail := func(remote bool, err error) (found, error) {
		return found{}, &Error{Source: "the machine's role", Err: err, Remote: remote, Hint: "check that the machine has a role, or set AWS_EC2_METADATA_DISABLED=true"}
	}
	get := func(ctx context.Context, method, path string, header ...string) (int, []byte, error) {
		r, err := http.NewRequestWithContext(ctx, method, e.machine+path, nil)
		if err != nil {
			return 0, nil, err
		}
		for i := 0; i+1 < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		return send(localClient(), r)
	}
	var token []string
	short, stop := context.WithTimeout(ctx, nearTime)
	defer stop()
	status, body, err := get(short, http.MethodPut, "/latest/api/token", "X-aws-ec2-metadata-token-ttl-seconds", "21600")
	switch {
	case ctx.Err() != nil:
		return found{}, ctx.Err()
	case err != nil && short.Err() == nil, err == nil && status == http.StatusForbidden:
		return found{}, errNone // refused, unreachable, or disabled
	case err == nil && status == http.StatusOK:
		token = []string{"X-aws-ec2-metadata-token", string(bytes.TrimSpace(body))}
	case err == nil && status != http.StatusNotFound && status != http.StatusMethodNotAllowed:
		return fail(isTemporary(status), errors.New("the metadata service returned no token: "+http.StatusText(status)))
	}
	const roles = "/latest/meta-data/iam/security-credentials/"
	status, body, err = get(ctx, http.MethodGet, roles, token...)
	name, _, _ := strings.Cut(strings.TrimSpace(string(body)), "\n")
	switch {
	case ctx.Err() != nil:
		return found{}, ctx.Err()
	case err != nil && token != nil:
		return fail(true, err)
	case err != nil, status == http.StatusNotFound, status == http.StatusOK && name == "":
		return found{}, errNone
	case status != http.StatusOK:
		return fail(isTemporary(status), errors.New("the metadata service returned no role: "+http.StatusText(status)))
	}
	status, body, err = get(ctx, http.MethodGet, roles+strings.TrimSpace(name), token...)
	if err != nil {
		return fail(true, err)
	}
	f, err := decode(status, body)
	if err != nil {
		return fail(isTemporary(status), err)
	}
	return f, nil
}
