//! Requests about artifacts and the output of jobs.

use bashful_dialect::ResourceError;

use crate::service::{Answered, Connection};
use crate::wire::{ErrorCode, ReadData, ReadRequest, ResourceInfo, ResourcesData, ResourcesRequest, RpcError};

/// Resources in one answer, unless the host names another number.
const USUAL_COUNT: u64 = 100;

/// Most resources in one answer.
const MOST: u64 = 1000;

impl Connection {
    #[expect(clippy::unnecessary_wraps, reason = "all requests have this form")]
    pub(crate) fn resources(&self, request: &ResourcesRequest) -> Result<Answered, RpcError> {
        let position = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let count = request.count.unwrap_or(USUAL_COUNT).clamp(1, MOST);
        let page = self.service.toolbox.resources(position(request.first.unwrap_or(0)), position(count));
        Ok(Answered::new(&ResourcesData {
            resources: page.links.into_iter().map(ResourceInfo::from).collect(),
            next: page.next.map(|next| next as u64),
        }))
    }

    pub(crate) async fn read_resource(&self, request: &ReadRequest) -> Result<Answered, RpcError> {
        let read = self.service.toolbox.read_part(&request.uri).await.map_err(|error| match &error {
            ResourceError::NotFound { .. } => {
                RpcError { code: ErrorCode::NotFound, ..RpcError::in_field("uri", error.to_string()) }
            }
            _ => RpcError::in_field("uri", error.to_string()),
        })?;
        Ok(Answered::new(&ReadData { text: read.text, cut: read.is_cut, next: read.next }))
    }
}
