package credentials

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/aws/sigv4"
)

// endpoints are the addresses from which keys for roles can be requested.
type endpoints struct {
	sts       string // default: that of the region
	portal    string // of IAM Identity Center; the default is the address for the region
	container string // prefix of AWS_CONTAINER_CREDENTIALS_RELATIVE_URI
	machine   string // of EC2's metadata service
}

// Source: "Container credential provider" and "IMDS credential provider", AWS SDKs and tools
// reference guide.
var awsEndpoints = endpoints{container: "http://169.254.170.2", machine: "http://169.254.169.254"}

// localClient returns a client for the machine itself and for link-local addresses. The client never uses
// a proxy.
func localClient() *http.Client {
	return &http.Client{CheckRedirect: noRedirect, Transport: &http.Transport{
		DialContext:           (&net.Dialer{Timeout: nearTime}).DialContext,
		ResponseHeaderTimeout: 10 * time.Second, DisableKeepAlives: true,
	}}
}

// serviceClient returns a client for AWS services.
func serviceClient() *http.Client { return &http.Client{CheckRedirect: noRedirect} }

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// nearTime is the time limit to connect to a link-local address. Without such a service, nothing
// answers at this address.
const nearTime = time.Second

// role finds the keys of a role that belongs to the program or the machine.
func (e endpoints) role(ctx context.Context) (found, error) {
	relative, full := os.Getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"), os.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI")
	switch {
	case os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE") != "":
		return e.webIdentity(ctx)
	case relative != "":
		return e.containerKeys(ctx, e.container+"/"+strings.TrimPrefix(relative, "/"))
	case full != "":
		if err := checkAddress(full); err != nil {
			return found{}, err
		}
		return e.containerKeys(ctx, full)
	}
	return e.machineKeys(ctx)
}

// webIdentity exchanges a token, of Kubernetes for example, for the keys of a role.
//
// Source: AssumeRoleWithWebIdentity, AWS STS API reference.
func (e endpoints) webIdentity(ctx context.Context) (found, error) {
	fail := func(remote bool, err error) (found, error) {
		return found{}, &Error{
			Source: "web identity", Err: err, Remote: remote,
			Hint: "check that the token of AWS_WEB_IDENTITY_TOKEN_FILE may assume AWS_ROLE_ARN",
		}
	}
	token, err := os.ReadFile(os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE"))
	if err != nil {
		return fail(false, err)
	}
	form := url.Values{
		"Action": {"AssumeRoleWithWebIdentity"}, "Version": {"2011-06-15"},
		"WebIdentityToken": {strings.TrimSpace(string(token))},
	}
	if arn := os.Getenv("AWS_ROLE_ARN"); arn != "" {
		name := os.Getenv("AWS_ROLE_SESSION_NAME")
		if name == "" {
			name = "holdfast-" + strconv.FormatInt(time.Now().Unix(), 10)
		}
		form.Set("RoleArn", arn)
		form.Set("RoleSessionName", name)
	}
	address := e.sts
	if address == "" {
		address = "https://sts.amazonaws.com"
		if region := os.Getenv("AWS_REGION"); region != "" {
			address = "https://sts." + region + "." + Suffix(region)
		}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address+"/", strings.NewReader(form.Encode()))
	if err != nil {
		return fail(false, err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	status, body, err := send(serviceClient(), r)
	if err != nil {
		return fail(true, err)
	}
	if status != http.StatusOK {
		var answer struct {
			Error struct{ Code, Message string }
		}
		if xml.Unmarshal(body, &answer) == nil && answer.Error.Code != "" {
			return fail(isTemporary(status), fmt.Errorf("%s: %s", answer.Error.Code, answer.Error.Message))
		}
		return fail(isTemporary(status), fmt.Errorf("STS returned status %d", status))
	}
	var a struct {
		Result struct {
			Credentials struct {
				AccessKeyID     string `xml:"AccessKeyId"`
				SecretAccessKey string
				SessionToken    string
				Expiration      time.Time
			}
		} `xml:"AssumeRoleWithWebIdentityResult"`
	}
	if err := xml.Unmarshal(body, &a); err != nil {
		return fail(true, fmt.Errorf("invalid response from STS: %w", err))
	}
	c := a.Result.Credentials
	return found{sigv4.Keys{ID: c.AccessKeyID, Secret: c.SecretAccessKey, Token: c.SessionToken}, c.Expiration}, nil
}

// containerKeys requests keys from the agent that runs in ECS or EKS.
func (e endpoints) containerKeys(ctx context.Context, address string) (found, error) {
	fail := func(remote bool, err error) (found, error) {
		return found{}, &Error{Source: "the container's role", Err: err, Remote: remote, Hint: "check the AWS_CONTAINER_CREDENTIALS_… variables"}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fail(false, err)
	}
	token := os.Getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN")
	if file := os.Getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return fail(false, err)
		}
		token = strings.TrimSpace(string(b))
	}
	if token != "" {
		r.Header.Set("Authorization", token)
	}
	client := localClient()
	if r.URL.Scheme == "https" {
		client = serviceClient()
	}
	status, body, err := send(client, r)
	if err != nil {
		return fail(true, err)
	}
	f, err := decode(status, body)
	if err != nil {
		return fail(isTemporary(status), err)
	}
	return f, nil
}

// checkAddress returns an error for an address from which keys must not be requested: over HTTP, only
// this machine and the agents of ECS and EKS are allowed.
func checkAddress(address string) error {
	u, err := url.Parse(address)
	if err == nil && u.Scheme == "https" && u.Host != "" {
		return nil
	}
	if err == nil && u.Scheme == "http" {
		host := u.Hostname()
		ip := net.ParseIP(host)
		if host == "localhost" || ip.IsLoopback() || host == "169.254.170.2" || host == "169.254.170.23" || host == "fd00:ec2::23" {
			return nil
		}
	}
	return &Error{
		Source: "the container's role", Hint: "use https, or a loopback address",
		Err: errors.New("AWS_CONTAINER_CREDENTIALS_FULL_URI must use https, or be an address of this machine or of the agent of ECS or EKS"),
	}
}

// send sends a request and reads the response, at most 1 MB.
func send(client *http.Client, r *http.Request) (status int, body []byte, err error) {
	resp, err := client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return resp.StatusCode, body, err
}

// isTemporary reports whether a request with this status may succeed later.
func isTemporary(status int) bool { return status >= 500 || status == http.StatusTooManyRequests }

// decode decodes the keys in a response of the ECS or EKS agent or of EC2's metadata service.
func decode(status int, body []byte) (found, error) {
	if status != http.StatusOK {
		return found{}, fmt.Errorf("the response is %d %s", status, http.StatusText(status))
	}
	var a struct {
		Code, Message, AccessKeyID, SecretAccessKey, Token string
		Expiration                                         time.Time
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return found{}, errors.New("the response is not a JSON object with keys")
	}
	if a.Code != "" && a.Code != "Success" {
		return found{}, fmt.Errorf("%s: %s", a.Code, a.Message)
	}
	return found{sigv4.Keys{ID: a.AccessKeyID, Secret: a.SecretAccessKey, Token: a.Token}, a.Expiration}, nil
}

// Suffix returns the domain of AWS services in a region.
func Suffix(region string) string {
	for prefix, suffix := range map[string]string{
		"cn-": "amazonaws.com.cn", "us-iso-": "c2s.ic.gov", "us-isob-": "sc2s.sgov.gov",
		"eu-isoe-": "cloud.adc-e.uk", "us-isof-": "csp.hci.ic.gov", "eusc-": "amazonaws.eu",
	} {
		if strings.HasPrefix(region, prefix) {
			return suffix
		}
	}
	return "amazonaws.com"
}
