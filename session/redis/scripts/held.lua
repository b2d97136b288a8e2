-- held: the lease
local l = redis.call('HMGET', LEASE, 'epoch', 'lease')
return {'ok', l[1] or '', l[2] or '', clock(), former()}
