pragma solidity 0.8.30;

/// Has no state: what it did is in the logs only.
contract Log {
    event Emitted(uint256 element);

    function log(uint256 element) external {
        emit Emitted(element);
    }
}
