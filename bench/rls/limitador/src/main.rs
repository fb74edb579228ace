// A rate limit server of tonic on the crate limitador, for `./dev bench rls`.
//
// usage: rls-limitador ADDRESS
//
// The limits are those of the benchmark's other servers (bench/rls/servers.py): each user of the
// domain `edge` may send more requests than the benchmark sends, each of the domain `tight` one
// request an hour. The other 98 limits are in namespaces of their own, because limitador evaluates all limits
// of a request's namespace. There are no metrics and no traces, and one thread.
use std::collections::HashMap;

use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::Code;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_service_server::{
    RateLimitService, RateLimitServiceServer,
};
use envoy_types::pb::envoy::service::ratelimit::v3::{RateLimitRequest, RateLimitResponse};
use limitador::limit::{Context, Expression, Limit, Namespace};
use limitador::RateLimiter;
use tonic::{Request, Response, Status};

const HOUR: u64 = 3_600;
const PLENTY: u64 = 1 << 40;

struct Service {
    limiter: RateLimiter,
}

fn limiter() -> RateLimiter {
    let limiter = RateLimiter::new(10_000);
    let add = |namespace: String, capacity: u64| {
        let user = Expression::parse("descriptors[0].user").expect("an expression");
        limiter.add_limit(Limit::new(namespace, capacity, HOUR, [], [user]));
    };
    add("edge".to_string(), PLENTY);
    add("tight".to_string(), 1);
    for number in 0..98 {
        add(format!("unused{number}"), PLENTY);
    }
    limiter
}

#[tonic::async_trait]
impl RateLimitService for Service {
    async fn should_rate_limit(
        &self,
        request: Request<RateLimitRequest>,
    ) -> Result<Response<RateLimitResponse>, Status> {
        let request = request.into_inner();
        let descriptors: Vec<HashMap<String, String>> = request
            .descriptors
            .into_iter()
            .map(|d| d.entries.into_iter().map(|e| (e.key, e.value)).collect())
            .collect();
        let mut context = Context::default();
        context.list_binding("descriptors".to_string(), descriptors);
        let hits = u64::from(request.hits_addend.max(1));
        let result = self
            .limiter
            .check_rate_limited_and_update(&Namespace::from(request.domain), &context, hits)
            .map_err(|error| Status::unavailable(error.to_string()))?;
        let code = if result.limited { Code::OverLimit } else { Code::Ok };
        Ok(Response::new(RateLimitResponse {
            overall_code: code.into(),
            ..Default::default()
        }))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).ok_or("usage: rls-limitador ADDRESS")?;
    let service = RateLimitServiceServer::new(Service { limiter: limiter() });
    tonic::transport::Server::builder()
        .add_service(service)
        .serve(address.parse()?)
        .await?;
    Ok(())
}
