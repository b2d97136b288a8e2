package credentials

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/holdfast-dev/holdfast/internal/aws/sigv4"
)

// sso gets the keys of a role from AWS IAM Identity Center, with the token that `aws sso login` stores.
//
// Source: "IAM Identity Center credential provider", AWS SDKs and tools reference guide.
func (e endpoints) sso(ctx context.Context, name string, p map[string]string, all iniFile) (found, error) {
	login := "aws sso login --profile " + name
	fail := func(remote bool, format string, args ...any) (found, error) {
		return found{}, &Error{Err: fmt.Errorf(format, args...), Hint: login, Remote: remote}
	}
	account, role, region := p["sso_account_id"], p["sso_role_name"], p["sso_region"]
	if account == "" || role == "" {
		return found{}, &Error{Err: errors.New("it needs sso_account_id and sso_role_name"), Hint: "aws configure sso --profile " + name}
	}
	key := p["sso_start_url"]
	if session := p["sso_session"]; session != "" {
		key = session
		s := all["sso-session "+session]
		for _, setting := range []string{"sso_region", "sso_start_url"} {
			if p[setting] != "" && s[setting] != "" && p[setting] != s[setting] {
				return found{}, &Error{
					Err: fmt.Errorf("%s differs from sso-session %s", setting, session), Hint: "remove it from the profile",
				}
			}
		}
		if s["sso_region"] != "" {
			region = s["sso_region"]
		}
	}
	if key == "" {
		return found{}, &Error{Err: errors.New("it needs sso_session or sso_start_url"), Hint: "aws configure sso --profile " + name}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return found{}, err
	}
	sum := sha1.Sum([]byte(key)) // the name of the file
	text, err := os.ReadFile(filepath.Join(home, ".aws", "sso", "cache", hex.EncodeToString(sum[:])+".json"))
	if err != nil {
		return fail(false, "cannot read the token: %w", err)
	}
	var token struct {
		AccessToken, Region string
		ExpiresAt           time.Time
	}
	if err := json.Unmarshal(text, &token); err != nil || token.AccessToken == "" {
		return fail(false, "the token is invalid")
	}
	if !token.ExpiresAt.After(time.Now()) {
		return fail(false, "the token has expired")
	}
	if region == "" {
		region = token.Region
	}
	address := e.portal
	if address == "" {
		if region == "" {
			return fail(false, "it needs sso_region")
		}
		address = "https://portal.sso." + region + "." + Suffix(region)
	}
	query := url.Values{"account_id": {account}, "role_name": {role}}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/federation/credentials?"+query.Encode(), nil)
	if err != nil {
		return found{}, err
	}
	r.Header.Set("X-Amz-Sso_bearer_token", token.AccessToken)
	status, body, err := send(serviceClient(), r)
	switch {
	case err != nil:
		return fail(true, "%w", err)
	case status != http.StatusOK:
		return fail(isTemporary(status), "IAM Identity Center returned %d %s", status, http.StatusText(status))
	}
	var a struct {
		RoleCredentials struct {
			AccessKeyID, SecretAccessKey, SessionToken string
			Expiration                                 int64 // milliseconds
		}
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return fail(true, "the response of IAM Identity Center has no keys")
	}
	c := a.RoleCredentials
	return found{sigv4.Keys{ID: c.AccessKeyID, Secret: c.SecretAccessKey, Token: c.SessionToken}, time.UnixMilli(c.Expiration)}, nil
}
